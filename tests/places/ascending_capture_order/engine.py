"""Engines that capture all sizes at start-up."""

import torch
from graphs import GraphTable

LADDER = [1, 2, 4, 8, 16, 32]


def ladder(net: torch.nn.Module):
    table = GraphTable(net, 32)
    for size in LADDER:  # expect: CG601
        table.record(size)
    return table


def ladder_downwards(net: torch.nn.Module):
    table = GraphTable(net, 32)
    for size in reversed(LADDER):  # ok: CG601
        table.record(size)
    return table


class Engine:
    def __init__(self, net: torch.nn.Module, sizes: list[int]):
        self.net = net
        self.sizes = sorted(set(sizes))
        self.x = torch.zeros(max(sizes), 64, device="cuda")
        self.graphs = {}

    def capture(self):
        pool = torch.cuda.graph_pool_handle()
        for size in self.sizes:  # expect: CG601
            self.net(self.x[:size])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                out = self.net(self.x[:size])
            self.graphs[size] = (graph, out)

    def step(self, size: int):
        graph, out = self.graphs[size]
        graph.replay()
        return out.clone()


class Downwards:
    def __init__(self, net: torch.nn.Module, sizes: list[int]):
        self.net = net
        self.sizes = sorted(set(sizes), reverse=True)
        self.x = torch.zeros(max(sizes), 64, device="cuda")
        self.graphs = {}

    def capture(self):
        pool = torch.cuda.graph_pool_handle()
        for size in self.sizes:  # ok: CG601
            self.net(self.x[:size])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                out = self.net(self.x[:size])
            self.graphs[size] = (graph, out)

    def step(self, size: int):
        graph, out = self.graphs[size]
        graph.replay()
        return out.clone()
