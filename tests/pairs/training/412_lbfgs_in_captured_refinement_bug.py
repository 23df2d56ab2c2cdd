"""Drawn from physics-informed networks that finish with a quasi-Newton optimizer.

Symptom: the refinement with LBFGS is captured like the first phase with Adam; LBFGS reads losses and gradients on
the host to decide when to stop, and the capture fails.
"""

from __future__ import annotations

import itertools

import torch
from torch import nn


class Field(nn.Module):
    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        sizes = [2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.out = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.out(x)


def residual(field: Field, points: torch.Tensor) -> torch.Tensor:
    points = points.detach().requires_grad_()
    u = field(points)
    (first,) = torch.autograd.grad(u.sum(), points, create_graph=True)
    (second,) = torch.autograd.grad(first[:, 0].sum(), points, create_graph=True)
    return first[:, 1:] - 0.1 * second[:, :1] + u * first[:, :1]


class Phase:
    """One optimizer over the field, captured the first time it is run when it may be."""

    def __init__(self, field: Field, points: torch.Tensor, optimizer, captured: bool) -> None:
        self.field, self.points, self.optimizer = field, points, optimizer
        self.captured = captured
        self.graph: torch.cuda.CUDAGraph | None = None

    def _closure(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = residual(self.field, self.points).square().mean()
        loss.backward()
        return loss

    def _advance(self) -> None:
        self.optimizer.step(self._closure)  # HAZARD: implicit-sync, training, host-branch-on-device

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._advance()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._advance()

    def run(self, steps: int, sample) -> None:
        for _ in range(steps):
            self.points.copy_(sample())
            if not self.captured:
                self._advance()
                continue
            if self.graph is None:
                self._capture()
            self.graph.replay()


def solve(points: int = 4096) -> Field:
    field = Field().cuda()
    where = torch.zeros(points, 2, device="cuda")

    def sample() -> torch.Tensor:
        return torch.rand(points, 2, device="cuda") * 2 - 1

    adam = torch.optim.Adam(field.parameters(), lr=1e-3, capturable=True)
    Phase(field, where, adam, captured=True).run(5000, sample)
    lbfgs = torch.optim.LBFGS(field.parameters(), lr=1.0, max_iter=20, line_search_fn="strong_wolfe")
    Phase(field, where, lbfgs, captured=True).run(50, sample)
    return field
