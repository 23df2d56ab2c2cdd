"""Captured mixed-precision steps."""

import torch
from amp import Amp
from torch import nn


class Whole:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.amp = Amp()
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.amp.backward(self.net(self.x).mean())
            self.amp.update(self.optimizer)

    def run(self):
        self.graph.replay()


class Partial:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.scaler = torch.cuda.amp.GradScaler()
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.scaler.scale(self.net(self.x).mean()).backward()  # ok: CG808

    def run(self):
        self.graph.replay()
        self.scaler.step(self.optimizer)  # ok: CG808
        self.scaler.update()  # ok: CG808


def clipped(net: nn.Module, optimizer: torch.optim.SGD, x: torch.Tensor):
    scaler = torch.amp.GradScaler("cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaler.scale(net(x).mean()).backward()
        scaler.unscale_(optimizer)  # ok: CG808
        scaler.step(optimizer)  # expect: CG808
    graph.replay()
    scaler.update()  # ok: CG808


def fused(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.AdamW(net.parameters(), fused=True, capturable=True)
    scaler = torch.amp.GradScaler("cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaler.scale(net(x).mean()).backward()
        scaler.step(optimizer)  # ok: CG808
    graph.replay()
    scaler.update()  # ok: CG808


def two(net: nn.Module, x: torch.Tensor):
    weights = list(net.parameters())
    first, second = torch.optim.SGD(weights[:1], lr=0.1), torch.optim.SGD(weights[1:], lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaler.scale(net(x).mean()).backward()
        for optimizer in (first, second):
            scaler.step(optimizer)  # expect: CG808
        scaler.update(1024.0)  # expect: CG808
    graph.replay()


def by_function(net: nn.Module, optimizer: torch.optim.SGD, x: torch.Tensor):
    scaler = torch.amp.GradScaler("cuda")

    def step():
        scaler.scale(net(x).mean()).backward()
        scaler.step(optimizer)  # expect: CG808

    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()


def shown(net: nn.Module, optimizer: torch.optim.SGD, x: torch.Tensor):
    scaler = torch.amp.GradScaler("cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaler.scale(net(x).mean()).backward()
        scaler.step(optimizer)  # graphlint: ignore[CG808] -- the guide's example of what not to do
    graph.replay()
