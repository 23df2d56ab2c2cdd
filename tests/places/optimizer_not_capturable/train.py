"""Captured steps with optimizers of all kinds."""

import torch
from factory import make, make_capturable, update
from torch import nn


class Trainer:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = make("adamw", self.net.parameters())
        self.capturable = make_capturable("adamw", self.net.parameters())
        self.x = torch.zeros(8, width, device="cuda")
        self.graph, self.other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):  # expect: CG701
            self.net(self.x).mean().backward()
            update(self.optimizer)
        with torch.cuda.graph(self.other):  # expect: CG701
            self.capturable.step()  # ok: CG804

    def run(self):
        self.graph.replay()
        self.other.replay()


class Eager:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.net(self.x).mean().backward()

    def run(self):
        self.graph.replay()
        self.optimizer.step()  # ok: CG804


def plain(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        net(x).mean().backward()
        optimizer.step()  # ok: CG804
    graph.replay()


def fused(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        net(x).mean().backward()
        optimizer.step()  # expect: CG804
    graph.replay()


def fused_capturable(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.AdamW(net.parameters(), fused=True, capturable=True)
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        net(x).mean().backward()
        optimizer.step()  # ok: CG804
    graph.replay()


def by_options(net: nn.Module, x: torch.Tensor, options: dict):
    optimizer = torch.optim.Adam(net.parameters(), **options)
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        net(x).mean().backward()
        optimizer.step()  # ok: CG804
    graph.replay()
