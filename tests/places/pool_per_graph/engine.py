"""Engines with a graph for each batch size."""

import torch
from recorder import recorded, recorded_with_pool


def build(net: torch.nn.Module, sizes: list[int]):
    x = torch.zeros(max(sizes), 64, device="cuda")
    graphs = {}
    for size in sorted(sizes, reverse=True):
        graphs[size] = recorded(net, x[:size])
    return x, graphs


def build_shared(net: torch.nn.Module, sizes: list[int]):
    x = torch.zeros(max(sizes), 64, device="cuda")
    pool, graphs = torch.cuda.graph_pool_handle(), {}
    for size in sorted(sizes, reverse=True):
        graphs[size] = recorded_with_pool(net, x[:size], pool)
    return x, graphs


class Engine:
    def __init__(self, net: torch.nn.Module, sizes: list[int]):
        self.net = net
        self.x = torch.zeros(max(sizes), 64, device="cuda")
        self.sizes = sorted(sizes, reverse=True)
        self.graphs: dict[int, tuple] = {}

    def capture_all(self):
        for size in self.sizes:
            self.net(self.x[:size])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # expect: CG602
                out = self.net(self.x[:size])
            self.graphs[size] = (graph, out)

    def step(self, size: int):
        graph, out = self.graphs[size]
        graph.replay()
        return out.clone()


class Chained:
    """Each graph takes the pool of the one before."""

    def __init__(self, net: torch.nn.Module, sizes: list[int]):
        self.net = net
        self.x = torch.zeros(max(sizes), 64, device="cuda")
        self.sizes = sorted(sizes, reverse=True)
        self.graphs: dict[int, tuple] = {}

    def capture_all(self):
        pool = torch.cuda.graph_pool_handle()
        for size in self.sizes:
            self.net(self.x[:size])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # ok: CG602
                out = self.net(self.x[:size])
            self.graphs[size] = (graph, out)

    def step(self, size: int):
        graph, out = self.graphs[size]
        graph.replay()
        return out.clone()


def on_streams(net: torch.nn.Module, sizes: list[int]):
    x = torch.zeros(max(sizes), 64, device="cuda")
    graphs = {}
    for size in sorted(sizes, reverse=True):
        net(x[:size])
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=side):  # ok: CG602
            out = net(x[:size])
        graphs[size] = (graph, out)
    return x, graphs
