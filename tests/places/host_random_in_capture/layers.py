"""Layers that throw dice."""

import random
import time

import numpy as np
import torch
from torch import nn


def jitter(x: torch.Tensor) -> torch.Tensor:
    return x * np.random.uniform(0.9, 1.1)  # expect: CG404


class LayerDrop(nn.Module):
    def __init__(self, width: int, depth: int, rate: float):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.rate = rate
        self.order = list(range(depth))
        random.shuffle(self.order)  # ok: CG404

    def forward(self, x):
        for index in self.order:
            if random.random() < self.rate:  # expect: CG404
                continue
            x = self.layers[index](x)
        return jitter(x)


class Noisy(nn.Module):
    def __init__(self, seed: int):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.scale = float(self.rng.normal())  # ok: CG404

    def forward(self, x):
        started = time.perf_counter()
        x = x + torch.randn_like(x) * self.scale  # ok: CG404
        x = x + self.rng.normal()  # expect: CG404
        self.seconds = time.perf_counter() - started  # ok: CG404
        return torch.nn.functional.dropout(x, 0.1)  # ok: CG404
