"""Captured steps of distributed modules after warm-ups of several lengths."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from warming import warm, warm_long

TURNS = 3


def short(net: nn.Module, x: torch.Tensor):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model = DDP(net)
        warm(model, x, 3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()
    graph.replay()


def long(net: nn.Module, x: torch.Tensor):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model = DDP(net)
        warm_long(model, x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()
    graph.replay()


class Trainer:
    def __init__(self, net: nn.Module, turns: int = 5):
        self.side = torch.cuda.Stream()
        with torch.cuda.stream(self.side):
            self.model = DDP(net)
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        loss = self.model(self.x).mean()
        loss.backward()
        return loss

    def capture(self):
        with torch.cuda.stream(self.side):
            for _ in range(TURNS):  # expect: CG809
                self.model.zero_grad(set_to_none=True)
                self.step()
            self.model.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph, stream=self.side):
            self.loss = self.step()

    def run(self):
        self.graph.replay()


class Configured:
    def __init__(self, net: nn.Module, turns: int):
        self.turns = turns
        self.side = torch.cuda.Stream()
        with torch.cuda.stream(self.side):
            self.model = DDP(net)
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.stream(self.side):
            for _ in range(self.turns):  # ok: CG809
                self.model.zero_grad()
                self.model(self.x).mean().backward()
            self.model.zero_grad()
        with torch.cuda.graph(self.graph, stream=self.side):
            self.model(self.x).mean().backward()

    def run(self):
        self.graph.replay()
