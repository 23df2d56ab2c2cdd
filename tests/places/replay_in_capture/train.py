"""Captured steps over graphed and compiled callables."""

import torch
from torch import nn


class Step:
    def __init__(self):
        sample = torch.zeros(8, 8, device="cuda")
        self.net = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (sample,))
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.net(self.x).mean()  # expect: CG504

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.net(self.x), self.loss.item()  # ok: CG504


class Target:
    def __init__(self, width: int):
        self.value = torch.zeros(width, device="cuda")
        self.average = torch.zeros(width, device="cuda")
        self.update = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.update):
            self.average.lerp_(self.value, 0.01)
        self.outer = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.outer):
            self.value.mul_(0.9)
            self.update.replay()  # expect: CG504
        self.later = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.later):
            self.update.replay()  # graphlint: ignore[CG504] -- the test asserts that this raises

    def run(self):
        self.outer.replay()
        self.update.replay()  # ok: CG504


def substeps(graph: torch.cuda.CUDAGraph, count: int):
    for _ in range(count):
        graph.replay()  # expect: CG504


def simulate(state: torch.Tensor):
    state = state.cuda()
    inner, outer = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(inner):
        state.mul_(0.99)
    with torch.cuda.graph(outer):
        substeps(inner, 4)
    return inner, outer, state


def overlapping(state: torch.Tensor):
    state = state.cuda()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        state.mul_(0.99)
        with torch.cuda.graph(second):  # expect: CG504
            state.add_(0.01)
    return first, second, state
