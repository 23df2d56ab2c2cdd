"""Graphs for lengths, grids and layers."""

import torch


def lengths(net: torch.nn.Module, limit: int):
    x = torch.zeros(limit, 16, device="cuda")
    graphs = []
    for length in range(limit, 0, -16):
        net(x[:length])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # expect: CG602
            loss = net(x[:length]).mean()
        graphs.append((length, graph, loss))
    return x, graphs


def layers(blocks: list[torch.nn.Linear], x: torch.Tensor):
    kept = []
    for block in blocks:
        block(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # ok: CG602
            y = block(x)
        kept.append((graph, x, y))
    return kept


def timed(net: torch.nn.Module, sizes: list[int]):
    x = torch.zeros(max(sizes), 16, device="cuda")
    for size in sizes:
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # ok: CG602
            net(x[:size])
        graph.replay()


def grids(cells: list[int]):
    kept = {}
    for count in sorted(cells, reverse=True):
        field = torch.zeros(count, count, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # expect: CG602
            smooth = 0.5 * (field + torch.roll(field, 1))
        kept[count] = (graph, field, smooth)
    return kept


def by_hand(net: torch.nn.Module, sizes: list[int]):
    x = torch.zeros(max(sizes), 16, device="cuda")
    kept = {}
    with torch.cuda.stream(torch.cuda.Stream()):
        for size in sorted(sizes, reverse=True):
            net(x[:size])
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()  # expect: CG602
            y = net(x[:size])
            graph.capture_end()
            kept[size] = (graph, y)
    return x, kept


def from_first(net: torch.nn.Module, sizes: list[int]):
    x = torch.zeros(max(sizes), 16, device="cuda")
    kept, pool = {}, None
    for size in sorted(sizes, reverse=True):
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # ok: CG602
            y = net(x[:size])
        pool = graph.pool()
        kept[size] = (graph, y)
    return x, kept


class Probes:
    def __init__(self, sizes: list[int]):
        self.x = torch.zeros(max(sizes), 16, device="cuda")
        self.graphs = {}
        for size in sizes:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # graphlint: ignore[CG602] -- all of them run at the same time
                total = self.x[:size].sum()
            self.graphs[size] = (graph, total)
        for size in sizes:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # expect: CG602
                peak = self.x[:size].amax()
            self.graphs[-size] = (graph, peak)
