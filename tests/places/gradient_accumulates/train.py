"""Warm-ups that leave gradients, and some that do not."""

import torch
from losses import backpropagated, cleared
from torch import nn


def from_another_file(net: nn.Module, optimizer, x: torch.Tensor):
    for _ in range(3):
        backpropagated(net, x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = backpropagated(net, x)
    for _ in range(10):
        graph.replay()
        optimizer.step()
    return loss


def cleared_inside(net: nn.Module, optimizer, x: torch.Tensor):
    for _ in range(3):
        cleared(net, x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = cleared(net, x)
    for _ in range(10):
        graph.replay()
        optimizer.step()
    return loss


class Trainer:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward_backward(self):
        loss = self.net(self.x).mean()
        loss.backward()  # expect: CG803
        return loss

    def capture(self):
        for _ in range(3):
            self.optimizer.zero_grad()
            self.forward_backward()
        with torch.cuda.graph(self.graph):
            self.loss = self.forward_backward()

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.optimizer.step()


class Clean:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward_backward(self):
        loss = self.net(self.x).mean()
        loss.backward()  # ok: CG803
        return loss

    def capture(self):
        for _ in range(3):
            self.optimizer.zero_grad()
            self.forward_backward()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.forward_backward()

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.optimizer.step()


def zeroed_not_dropped(net: nn.Module, optimizer: torch.optim.SGD, x: torch.Tensor):
    net(x).mean().backward()
    optimizer.zero_grad(set_to_none=False)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()  # expect: CG803
    for _ in range(10):
        graph.replay()
        optimizer.step()


def zeroed_between(net: nn.Module, optimizer: torch.optim.SGD, x: torch.Tensor):
    net(x).mean().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()  # ok: CG803
    for _ in range(10):
        optimizer.zero_grad(set_to_none=False)
        graph.replay()
        optimizer.step()
