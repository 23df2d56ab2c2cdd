"""Drawn from reports of "operation would make the legacy stream depend on a capturing blocking stream".

Symptom: the capture of a whole training step fails in backward: the iterations before it ran on the default stream
and autograd remembers that stream for every parameter.
"""

from __future__ import annotations

import torch
from torch import nn


class Batch:
    def __init__(self, size: int, features: int, device: torch.device) -> None:
        self.x = torch.empty(size, features, device=device)
        self.y = torch.empty(size, device=device)

    def fill(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x.copy_(x, non_blocking=True)
        self.y.copy_(y, non_blocking=True)


def make_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch):
    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.huber_loss(model(batch.x).squeeze(-1), batch.y)
        loss.backward()  # ALT: stream-escape, missing-warmup
        optimizer.step()
        return loss

    return step


def record(step, warmup: int = 3):
    for _ in range(warmup):
        loss = step()  # ALT: stream-escape, missing-warmup
    print("loss before recording", loss.item())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # HAZARD: stream-escape, missing-warmup
        loss = step()  # ALT: stream-escape, missing-warmup
    return graph, loss


def fit(loader, features: int = 32, size: int = 256, epochs: int = 5) -> list[float]:
    device = torch.device("cuda")
    model = nn.Sequential(nn.Linear(features, 64), nn.SiLU(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
    batch = Batch(size, features, device)
    first = next(iter(loader))
    batch.fill(*first)
    graph, loss = record(make_step(model, optimizer, batch))
    history = []
    for _ in range(epochs):
        for x, y in loader:
            batch.fill(x, y)
            graph.replay()
        history.append(loss.item())
    return history
