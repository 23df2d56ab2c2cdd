"""Loops that run the backward pass themselves."""

import torch
from forward import GraphedLoss, GraphedStep
from torch import nn


def fit(net: nn.Module, batches):
    graphed = GraphedLoss(net, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
        loss = graphed(x, y)
        loss.backward()  # expect: CG805
        optimizer.step()


def fit_captured(net: nn.Module, batches):
    graphed = GraphedStep(net, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
        graphed(x, y)
        optimizer.step()


def fit_eagerly(net: nn.Module, batches):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
        loss = (net(x.cuda()) - y.cuda()).pow(2).mean()
        loss.backward()  # ok: CG805
        optimizer.step()


class Trainer:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.out = self.net(self.x)
            self.loss = self.out.mean()

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.loss.backward()  # expect: CG805

    def step_again(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.loss.backward(retain_graph=True)  # expect: CG805

    def step_of_output(self, x: torch.Tensor, gradient: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.out.backward(gradient)  # expect: CG805

    def measure(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.loss.item()  # ok: CG805
