"""Engines that record what has or has not run before."""

import torch
from layers import Filter, Pointwise, Projection


def cold_projection():
    layer, x = Projection(64).cuda(), torch.zeros(4, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        y = layer(x)
    return graph, x, layer, y


def warm_projection():
    layer, x = Projection(64).cuda(), torch.zeros(4, 64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            layer(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG701
        y = layer(x)
    return graph, x, layer, y


def pointwise():
    layer, x = Pointwise(), torch.zeros(4, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG701
        y = layer(x)
    return graph, x, y


def warmed_with_another_library():
    layer, x = Filter(8).cuda(), torch.zeros(1, 8, 64, device="cuda")
    x @ x.transpose(1, 2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        y = layer(x)
    return graph, x, layer, y


class Engine:
    def __init__(self, model: torch.nn.Module, width: int):
        self.model = model
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):  # expect: CG701
            self.y = self.model(self.x)

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


class WarmEngine:
    def __init__(self, model: torch.nn.Module, width: int):
        self.model = model
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def warm_up(self):
        for _ in range(3):
            self.model(self.x)

    def capture(self):
        self.warm_up()
        with torch.cuda.graph(self.graph):  # ok: CG701
            self.y = self.model(self.x)

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
