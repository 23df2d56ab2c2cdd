"""Drawn from multi-task trainers that weight each loss by its size.

Symptom: weights are computed with math functions from the losses; math turns a device tensor into a
Python number.
"""

import math
from functools import reduce
from operator import add

import torch
from torch import nn


class TaskWeights:
    def __init__(self, names: list[str], temperature: float = 2.0):
        self.names, self.temperature = names, temperature

    def __call__(self, losses: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        heat = self.temperature
        scaled = [math.exp(losses[n] / heat) for n in self.names]  # HAZARD: implicit-sync, sync-in-capture
        total = reduce(add, scaled)
        return [s / total for s in scaled]


class MultiTask(nn.Module):
    def __init__(self, width: int, names: list[str]):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.heads = nn.ModuleDict({name: nn.Linear(width, 1) for name in names})

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = torch.relu(self.body(x))
        return {name: head(h).squeeze(-1) for name, head in self.heads.items()}


def make_step(width: int, names: list[str]):
    net, weights = MultiTask(width, names).cuda(), TaskWeights(names)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
    x = torch.zeros(16, width, device="cuda")
    y = {name: torch.zeros(16, device="cuda") for name in names}

    def body() -> torch.Tensor:
        opt.zero_grad(set_to_none=True)
        losses = {n: (p - y[n]).square().mean() for n, p in net(x).items()}
        loss = reduce(add, (w * losses[n] for n, w in zip(names, weights(losses))))
        loss.backward()
        opt.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = body()

    def step(batch: torch.Tensor, targets: dict[str, torch.Tensor]) -> torch.Tensor:
        x.copy_(batch)
        for name, target in targets.items():
            y[name].copy_(target)
        graph.replay()
        return loss.clone()

    return step
