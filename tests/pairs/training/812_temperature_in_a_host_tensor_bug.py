"""Drawn from contrastive trainers that keep their schedule in a tensor without asking where the tensor lives.

Symptom: the temperature is annealed in place, as advised, but nothing changes: the tensor has no dimension and lives
on the host, so that its value went into the recorded kernels as a number.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class Temperature:
    def __init__(self, start: float, end: float, total: int) -> None:
        self.start, self.end, self.total = start, end, total
        self.value = torch.tensor(start)

    def advance(self, step: int) -> None:
        share = 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / self.total)))
        self.value.fill_(self.end + (self.start - self.end) * share)  # ALT: frozen-scalar


class Encoder(nn.Module):
    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, out))

    def forward(self, x):
        return F.normalize(self.layers(x), dim=-1)


class ContrastiveTrainer:
    def __init__(self, width: int, batch: int, total: int) -> None:
        self.encoder = Encoder(width, 64).cuda()
        self.temperature = Temperature(0.5, 0.07, total)
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.1, momentum=0.9)
        self.left = torch.zeros(batch, width, device="cuda")
        self.right = torch.zeros(batch, width, device="cuda")
        self.labels = torch.arange(batch, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def iteration(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.encoder(self.left) @ self.encoder(self.right).T
        loss = F.cross_entropy(logits / self.temperature.value, self.labels)  # HAZARD: frozen-scalar
        loss.backward()
        self.optimizer.step()
        return loss

    def record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()

    def train(self, pairs) -> None:
        for step, (left, right) in enumerate(pairs):
            self.left.copy_(left, non_blocking=True)
            self.right.copy_(right, non_blocking=True)
            self.temperature.advance(step)
            if self.graph is None:
                self.record()
            self.graph.replay()
