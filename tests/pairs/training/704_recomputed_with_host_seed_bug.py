"""Drawn from activation recomputation that remembers seeds (compare reversible layers).

Symptom: every step drops the same units: each layer draws its seed with Python's generator and makes a generator of
that seed, once, while the graph is captured.
"""

from __future__ import annotations

import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class SeededDropout(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.keep = 1 - rate

    def draw(self) -> int:
        return random.getrandbits(31)  # HAZARD: frozen-scalar, rng-unregistered

    def forward(self, x: torch.Tensor, seed: int) -> torch.Tensor:
        position = torch.arange(x.numel(), device=x.device).view_as(x)
        noise = ((position * 1103515245 + seed) % 2147483647).float() / 2147483647  # ALT: frozen-scalar
        return x * (noise < self.keep) / self.keep


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.drop = SeededDropout(0.1)

    def _inner(self, x: torch.Tensor, seed: int) -> torch.Tensor:
        return self.drop(torch.relu(self.linear(x)), seed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + checkpoint(self._inner, x, self.drop.draw(), use_reentrant=False, preserve_rng_state=False)


def train(loader, width: int = 256, depth: int = 6) -> float:
    net = nn.Sequential(*(Layer(width) for _ in range(depth))).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, capturable=True)
    x = torch.zeros(32, width, device="cuda")

    def step() -> torch.Tensor:
        opt.zero_grad(set_to_none=True)
        loss = (net(x) - x).square().mean()
        loss.backward()
        opt.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for batch in loader:
        x.copy_(batch)
        graph.replay()
    return loss.item()
