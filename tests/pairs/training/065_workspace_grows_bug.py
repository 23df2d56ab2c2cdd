"""The workspace of a physics step grows when a larger scene is loaded; the graph keeps the block that it
was captured with."""

import torch


class Broadphase:
    def __init__(self, bodies):
        self.lower = torch.zeros(bodies, 3, device="cuda")
        self.upper = torch.zeros(bodies, 3, device="cuda")
        self.pairs = torch.zeros(bodies, 8, dtype=torch.int64, device="cuda")

    def reserve(self, per_body):
        if self.pairs.shape[1] < per_body:
            rows = self.pairs.shape[0]
            self.pairs = self.pairs.new_zeros(rows, per_body)  # HAZARD: rebind-static-input

    def compute(self):
        gap = torch.cdist(self.lower, self.upper)
        best = gap.topk(self.pairs.shape[1], largest=False).indices
        self.pairs.copy_(best)


class World:
    def __init__(self, bodies):
        self.broad = Broadphase(bodies)
        self.graph = None

    def warm(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.broad.compute()
        torch.cuda.current_stream().wait_stream(side)

    def step(self, lower, upper, per_body):
        self.broad.reserve(per_body)
        self.broad.lower.copy_(lower)
        self.broad.upper.copy_(upper)
        if self.graph is None:
            self.warm()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.broad.compute()
        self.graph.replay()
        return self.broad.pairs.clone()


def main(scenes):
    world = World(256)
    return [world.step(scene.lower, scene.upper, scene.density) for scene in scenes]
