"""Drawn from low-rank adapters that are merged into the weights for validation.

Fix: merging adds to the weight in place.
"""

from __future__ import annotations

import torch
from torch import nn


class LowRank(nn.Module):
    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.base.weight.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.01)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.merged = False

    @torch.no_grad()
    def merge(self) -> None:
        self.base.weight.add_(self.b @ self.a)
        self.merged = True

    @torch.no_grad()
    def unmerge(self) -> None:
        self.base.weight.sub_(self.b @ self.a)
        self.merged = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.base(x)
        return out if self.merged else out + x @ self.a.T @ self.b.T


class Adapted(nn.Module):
    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.one = LowRank(nn.Linear(width, width), rank)
        self.two = LowRank(nn.Linear(width, width), rank)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.two(torch.relu(self.one(x)))

    def adapters(self) -> list[LowRank]:
        return [self.one, self.two]


class AdapterTrainer:
    def __init__(self, width: int, rank: int, batch: int) -> None:
        self.model = Adapted(width, rank).cuda()
        wanted = [p for p in self.model.parameters() if p.requires_grad]
        self.opt = torch.optim.AdamW(wanted, lr=1e-3, capturable=True)
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.model(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    @torch.no_grad()
    def validate(self, x: torch.Tensor, y: torch.Tensor) -> float:
        for adapter in self.model.adapters():
            adapter.merge()
        error = nn.functional.mse_loss(self.model(x), y).item()
        for adapter in self.model.adapters():
            adapter.unmerge()
        return error

    def fit(self, loader, held_out: tuple[torch.Tensor, torch.Tensor], epochs: int) -> list[float]:
        self.capture()
        errors = []
        for _ in range(epochs):
            for x, y in loader:
                self.x.copy_(x)
                self.y.copy_(y)
                self.graph.replay()
            errors.append(self.validate(*held_out))
        return errors
