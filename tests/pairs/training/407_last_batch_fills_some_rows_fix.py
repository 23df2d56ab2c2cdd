"""Drawn from trainers whose loader does not drop the last batch.

Fix: the weights of the rows beyond the batch are set to zero for it.
"""

from __future__ import annotations

import torch
from torch import nn


class WeightedLoss(nn.Module):
    def forward(self, logits: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        per_row = nn.functional.cross_entropy(logits, labels, reduction="none")
        return (per_row * weights).sum() / weights.sum()


class StaticBatch:
    def __init__(self, rows: int, features: int) -> None:
        self.rows = rows
        self.features = torch.zeros(rows, features, device="cuda")
        self.labels = torch.zeros(rows, dtype=torch.long, device="cuda")
        self.weights = torch.ones(rows, device="cuda")

    def load(self, features: torch.Tensor, labels: torch.Tensor) -> None:
        n = features.shape[0]
        self.features[:n].copy_(features, non_blocking=True)
        self.features[n:].zero_()
        self.labels[:n].copy_(labels, non_blocking=True)
        self.labels[n:].zero_()
        self.weights.fill_(1.0)
        self.weights[n:].zero_()


class Tabular:
    def __init__(self, features: int, classes: int, rows: int) -> None:
        self.net = nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, classes)).cuda()
        self.loss_fn = WeightedLoss()
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=1e-3, capturable=True)
        self.batch = StaticBatch(rows, features)
        self.graph = torch.cuda.CUDAGraph()
        self.total = torch.zeros((), device="cuda")

    def _train_step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        logits = self.net(self.batch.features)
        loss = self.loss_fn(logits, self.batch.labels, self.batch.weights)
        loss.backward()
        self.opt.step()
        self.total.add_(loss.detach())

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._train_step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self._train_step()

    def fit(self, loader, epochs: int) -> list[float]:
        history = []
        for _ in range(epochs):
            self.total.zero_()
            steps = 0
            for features, labels in loader:
                self.batch.load(features, labels)
                self.graph.replay()
                steps += 1
            history.append(self.total.item() / max(steps, 1))
        return history


def main(loader) -> None:
    model = Tabular(features=54, classes=7, rows=1024)
    model.capture()
    print(model.fit(loader, epochs=3))
