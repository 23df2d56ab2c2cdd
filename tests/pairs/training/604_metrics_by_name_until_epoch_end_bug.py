"""Drawn from metric collections of trainers that are reduced at the end of an epoch.

Symptom: the mean of an epoch equals its last step: the collection keeps the static outputs of the graph for every
step instead of their values.
"""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import nn


class MetricCollection:
    def __init__(self) -> None:
        self.values: defaultdict[str, list[torch.Tensor]] = defaultdict(list)

    def update(self, **metrics: torch.Tensor) -> None:
        for name, value in metrics.items():
            self.values[name].append(value.detach())  # HAZARD: stale-output

    def compute(self) -> dict[str, float]:
        means = {name: torch.stack(values).mean().item() for name, values in self.values.items()}
        self.values.clear()
        return means


class Segmenter(nn.Module):
    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(channels, channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(channels, classes, 2, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.down(x))
        return self.up(torch.relu(self.mid(x)))


def dice(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    probs = logits.softmax(1)
    hot = nn.functional.one_hot(target, logits.shape[1]).movedim(-1, 1)
    overlap = (probs * hot).sum((2, 3))
    return 1 - (2 * overlap / (probs.sum((2, 3)) + hot.sum((2, 3)) + 1e-6)).mean()


class SegTrainer:
    def __init__(self, batch: int, size: int, classes: int) -> None:
        self.net = Segmenter(32, classes).cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.99, nesterov=True)
        self.image = torch.zeros(batch, 3, size, size, device="cuda")
        self.target = torch.zeros(batch, size, size, dtype=torch.long, device="cuda")
        self.metrics = MetricCollection()

    def _step(self) -> dict[str, torch.Tensor]:
        self.opt.zero_grad(set_to_none=True)
        logits = self.net(self.image)
        cross = nn.functional.cross_entropy(logits, self.target)
        overlap = dice(logits, self.target)
        (cross + overlap).backward()
        self.opt.step()
        return {"cross_entropy": cross, "dice": overlap}

    def fit(self, loader, epochs: int) -> list[dict[str, float]]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self._step()
        report = []
        for _ in range(epochs):
            for image, target in loader:
                self.image.copy_(image, non_blocking=True)
                self.target.copy_(target, non_blocking=True)
                graph.replay()
                self.metrics.update(**outputs)
            report.append(self.metrics.compute())
        return report
