"""Drawn from recommender models with sparse gradients of large embedding tables.

Symptom: the embedding makes sparse gradients, and the function that clips them coalesces them; how many rows are
left is known on the device only, and the capture fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Tables:
    sizes: tuple[int, ...] = (100_000, 20_000, 5_000)
    width: int = 32
    sparse: bool = True


class Interaction(nn.Module):
    def __init__(self, tables: Tables, dense: int) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(
            nn.Embedding(size, tables.width, sparse=tables.sparse) for size in tables.sizes
        )
        self.bottom = nn.Sequential(nn.Linear(dense, 64), nn.ReLU(), nn.Linear(64, tables.width))
        self.top = nn.Sequential(
            nn.Linear(tables.width * (len(tables.sizes) + 1), 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        parts = [self.bottom(dense)]
        for column, embedding in enumerate(self.embeddings):
            parts.append(embedding(ids[:, column]))
        return self.top(torch.cat(parts, dim=1)).squeeze(1)


@torch.no_grad()
def clip_rows(model: Interaction, limit: float) -> None:
    for embedding in model.embeddings:
        grad = embedding.weight.grad.coalesce()  # HAZARD: dynamic-shape, implicit-sync
        norms = grad.values().norm(dim=1, keepdim=True)
        grad.values().mul_((limit / (norms + 1e-6)).clamp(max=1.0))
        embedding.weight.grad = grad


class Recommender:
    def __init__(self, dense: int, batch: int, tables: Tables) -> None:
        self.model = Interaction(tables, dense).cuda()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.dense = torch.zeros(batch, dense, device="cuda")
        self.ids = torch.zeros(batch, len(tables.sizes), dtype=torch.long, device="cuda")
        self.clicks = torch.zeros(batch, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits = self.model(self.dense, self.ids)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, self.clicks)
        loss.backward()
        clip_rows(self.model, 1.0)
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

    def train(self, loader, log_every: int = 500) -> None:
        for number, (dense, ids, clicks) in enumerate(loader):
            self.dense.copy_(dense, non_blocking=True)
            self.ids.copy_(ids, non_blocking=True)
            self.clicks.copy_(clicks, non_blocking=True)
            self.graph.replay()
            if number % log_every == 0:
                print(number, self.loss.item())
