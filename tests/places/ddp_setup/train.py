"""Captured steps of distributed modules."""

import torch
from factory import distributed, distributed_on
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def record(model: nn.Module, x: torch.Tensor):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            model.zero_grad()
            model(x).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()
    return graph


def main(net: nn.Module, rank: int):
    x = torch.zeros(8, 8, device="cuda")
    graph = record(distributed(net, rank), x)
    graph.replay()


def main_on_side(net: nn.Module, rank: int):
    x = torch.zeros(8, 8, device="cuda")
    side = torch.cuda.Stream()
    graph = record(distributed_on(net, rank, side), x)
    graph.replay()


class Trainer:
    def __init__(self, net: nn.Module, rank: int):
        self.model = DDP(net, device_ids=[rank], find_unused_parameters=False)  # expect: CG806
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        loss = self.model(self.x).mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(12):
                self.model.zero_grad()
                self.step()
        self.model.zero_grad()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()


class OnSide:
    def __init__(self, net: nn.Module, rank: int):
        self.side = torch.cuda.Stream()
        with torch.cuda.stream(self.side):
            self.model = DDP(net, device_ids=[rank])  # ok: CG806
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        loss = self.model(self.x).mean()
        loss.backward()
        return loss

    def capture(self):
        with torch.cuda.stream(self.side):
            for _ in range(12):
                self.model.zero_grad()
                self.step()
            self.model.zero_grad()
        with torch.cuda.graph(self.graph, stream=self.side):
            self.loss = self.step()

    def run(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()


class Inference:
    def __init__(self, net: nn.Module):
        self.model = DDP(net)  # ok: CG806
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.model(self.x)
        with torch.cuda.graph(self.graph), torch.no_grad():
            self.y = self.model(self.x)

    def run(self):
        self.graph.replay()
        return self.y.clone()
