"""Compiled models and losses in captured steps."""

import torch
from torch import nn


class Trainer:
    def __init__(self, width: int, debug: bool = False):
        self.net = torch.compile(nn.Linear(width, width).cuda())
        self.loss = torch.compile(torch.nn.functional.mse_loss)
        self.plain = torch.compile(torch.nn.functional.l1_loss, disable=True)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            out = self.net(self.x)  # ok: CG702
            self.total = self.loss(out, self.x)  # expect: CG702
            self.total = self.total + self.plain(out, self.x)  # ok: CG702

    def run(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            self.graph.replay()
        return self.net(self.x)  # ok: CG702


def evaluate(net: nn.Module, x: torch.Tensor):
    x = x.cuda()
    fast = torch.compile(net.forward, mode="max-autotune")
    fast(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = fast(x)  # expect: CG702
    return graph, x, y


def step(x: torch.Tensor):
    return torch.sin(x)


def demonstrated(x: torch.Tensor):
    x = x.cuda()
    fast = torch.compile(step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = fast(x)  # graphlint: ignore[CG702] -- the failure is the point
    return graph, x, y
