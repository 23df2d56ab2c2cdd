"""Loops with a captured backward pass and an eager optimizer."""

import torch
from hooks import clear, forget
from torch import nn


class Step:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        self.optimizer.zero_grad(set_to_none=True)  # ok: CG802
        with torch.cuda.graph(self.graph):
            self.loss = self.net(self.x).mean()
            self.loss.backward()

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.optimizer.step()
        self.optimizer.zero_grad()  # expect: CG802


class Module:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.net(self.x).mean().backward()

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.net.zero_grad()  # expect: CG802
        self.graph.replay()
        self.optimizer.step()


def forgetful(net: nn.Module, optimizer, batches):
    x = torch.zeros(8, 8, device="cuda")
    forget(net)  # ok: CG802
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()
    for batch in batches:
        x.copy_(batch)
        forget(net)
        graph.replay()
        optimizer.step()


def careful(net: nn.Module, optimizer: torch.optim.SGD, batches):
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        optimizer.step()
        clear(optimizer)


def whole(net: nn.Module, batches):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()
        optimizer.step()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        optimizer.zero_grad()  # ok: CG802
