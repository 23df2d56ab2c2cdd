"""Layers with guards and early exits."""

import torch
from torch import nn


def guarded(x: torch.Tensor) -> torch.Tensor:
    assert not torch.isnan(x).any()  # expect: CG401
    assert x.is_contiguous()  # ok: CG401
    return x


class EarlyExit(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.exits = [2, 4]

    def forward(self, x, mask: torch.Tensor | None = None):
        for index, layer in enumerate(self.layers):
            x = torch.relu(layer(x))
            if index in self.exits:  # ok: CG401
                x = guarded(x)
            confident = x.softmax(-1).amax(-1)
            if (confident > 0.9).all() and mask is not None:  # expect: CG401
                return x
        scale = 0.5 if x.amax() > 10 else 1.0  # expect: CG401
        rows = [row for row in x.unbind(0) if row.sum() > 0]  # expect: CG401
        return x * scale, rows
