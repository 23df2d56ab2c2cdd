"""Captures over the kernels, cold and warm."""

import torch
from kernels import activate, gated, graphed, normalise, scale, tuned_scale


class Cold:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # expect: CG701
            self.y = gated(self.x)
            self.z = normalise(self.x)  # expect: CG702

    def step(self):
        self.graph.replay()
        return self.y + self.z


class Warm:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        for _ in range(3):
            self.forward()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        out = normalise(activate(self.x))  # ok: CG702
        tuned_scale[(8,)](out, 1024)  # ok: CG702
        return out

    def step(self):
        self.graph.replay()
        return self.y.clone()


def tuned(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tuned_scale[(8,)](x, 1024)  # expect: CG702
        scale[(8,)](x, 1024, BLOCK=128)  # ok: CG702
    return graph, x


def own_graphs(x: torch.Tensor):
    x = x.cuda()
    graphed(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = graphed(x)  # expect: CG702
    return graph, x, y
