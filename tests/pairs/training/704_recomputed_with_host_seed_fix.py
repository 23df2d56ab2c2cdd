"""Drawn from activation recomputation that remembers seeds (compare reversible layers).

Fix: the mask is drawn by the device's own generator and kept for the recomputation.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class SeededDropout(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.keep = 1 - rate

    def draw(self, x: torch.Tensor) -> torch.Tensor:
        return (torch.rand_like(x) < self.keep) / self.keep

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return x * mask


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.drop = SeededDropout(0.1)

    def _inner(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.drop(torch.relu(self.linear(x)), mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + checkpoint(
            self._inner, x, self.drop.draw(x), use_reentrant=False, preserve_rng_state=False
        )


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
