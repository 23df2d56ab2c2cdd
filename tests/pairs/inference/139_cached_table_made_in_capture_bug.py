"""Drawn from rotary and ALiBi helpers in transformers whose tables are cached properties.

Symptom: warm-up runs without positions and does not touch the table; the captured call is the first to
ask for it, so the table lives in the graph's memory, and prefill reads it after other replays.
"""

from functools import cached_property

import torch
import torch.nn as nn


class Rotary(nn.Module):
    def __init__(self, dim: int, length: int, base: float = 10000.0):
        super().__init__()
        self.dim, self.length, self.base = dim, length, base

    @cached_property
    def table(self) -> torch.Tensor:
        inv = self.base ** (-torch.arange(0, self.dim, 2, device="cuda") / self.dim)
        angles = torch.outer(torch.arange(self.length, device="cuda"), inv)
        return torch.cat([angles.cos(), angles.sin()], dim=-1)  # HAZARD: alloc-in-capture

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None) -> torch.Tensor:
        if positions is None:
            return x
        cos, sin = self.table[positions].chunk(2, dim=-1)  # ALT: alloc-in-capture
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Attention(nn.Module):
    def __init__(self, dim: int, length: int):
        super().__init__()
        self.q = nn.Linear(dim, dim, device="cuda")
        self.rotary = Rotary(dim, length)

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        return self.rotary(self.q(x), positions)


class Decoder:
    def __init__(self, layer: Attention, batch: int, dim: int):
        self.layer = layer
        self.x = torch.zeros(batch, dim, device="cuda")
        self.positions = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x, self.positions)

    @torch.inference_mode()
    def prefill(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x, torch.arange(x.shape[0], device="cuda"))

    @torch.inference_mode()
    def decode(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.positions.copy_(positions)
        self.graph.replay()
        return self.y.clone()
