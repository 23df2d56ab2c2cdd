"""Noise from generators that a request seeds."""

import torch
from torch import nn


def gaussian(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return x + torch.randn(x.shape, device="cuda", generator=generator)  # expect: CG503


class Dropper(nn.Module):
    def __init__(self, rate: float, seed: int):
        super().__init__()
        self.rate = rate
        self.generator = torch.Generator(device="cuda").manual_seed(seed)

    def forward(self, x):
        kept = torch.empty_like(x).bernoulli_(1 - self.rate, generator=self.generator)  # expect: CG503
        return x * kept


class Dither(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x) * 0.01  # ok: CG503
