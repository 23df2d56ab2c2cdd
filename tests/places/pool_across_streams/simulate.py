"""Simulators with a graph for each phase."""

import torch


def sizes(limits: list[int]):
    x = torch.zeros(max(limits), 16, device="cuda")
    pool, graphs = torch.cuda.graph_pool_handle(), {}
    for size in sorted(limits, reverse=True):
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, pool=pool, stream=side):  # expect: CG605
            y = x[:size] * 2
        graphs[size] = (graph, y)
    return x, graphs


def sizes_on_one(limits: list[int]):
    x = torch.zeros(max(limits), 16, device="cuda")
    pool, side, graphs = torch.cuda.graph_pool_handle(), torch.cuda.Stream(), {}
    for size in sorted(limits, reverse=True):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=side):  # ok: CG605
            y = x[:size] * 2
        graphs[size] = (graph, y)
    return x, graphs


class World:
    def __init__(self, bodies: int):
        self.state = torch.zeros(bodies, 6, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.near, self.far = torch.cuda.Stream(), torch.cuda.Stream()
        self.collide, self.move, self.report = (torch.cuda.CUDAGraph() for _ in range(3))
        with torch.cuda.graph(self.collide, pool=self.pool, stream=self.near):
            self.hits = self.state.norm(dim=-1)
        with torch.cuda.graph(self.move, pool=self.pool, stream=self.far):  # expect: CG605
            self.state.mul_(0.99)
        with torch.cuda.graph(
            self.report, pool=self.pool
        ):  # graphlint: ignore[CG605] -- it allocates nothing
            self.state.add_(0.0)

    def run(self):
        self.collide.replay()
        self.move.replay()
        self.report.replay()
        return self.hits.clone()


def by_hand(x: torch.Tensor):
    x, near, far = x.cuda(), torch.cuda.Stream(), torch.cuda.Stream()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(near):
        first.capture_begin()
        y = x * 2
        first.capture_end()
    with torch.cuda.stream(far):
        second.capture_begin(pool=first.pool())  # expect: CG605
        z = x * 3
        second.capture_end()
    return first, second, x, y, z


def given(x: torch.Tensor, settings):
    x, pool = x.cuda(), torch.cuda.graph_pool_handle()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first, pool=pool, stream=settings.one):
        y = x * 2
    with torch.cuda.graph(second, pool=pool, stream=settings.two):  # ok: CG605
        z = x * 3
    return first, second, x, y, z
