"""Drawn from image trainers that change the memory format late (channels last for the validation code).

Fix: the format is chosen before anything is captured.
"""

from __future__ import annotations

import torch
from torch import nn


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.GroupNorm(8, outputs),
        nn.ReLU(inplace=True),
    )


class SmallNet(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(conv(3, 64), conv(64, 128, 2), conv(128, 256, 2))
        self.head = nn.Linear(256, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).mean((2, 3)))


class Validator:
    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.ready = False

    def _prepare(self) -> None:
        self.ready = True

    @torch.no_grad()
    def accuracy(self, loader) -> float:
        if not self.ready:
            self._prepare()
        right = total = 0
        self.model.eval()
        for x, y in loader:
            x = x.cuda().to(memory_format=torch.channels_last)
            right += (self.model(x).argmax(1).cpu() == y).sum().item()
            total += y.numel()
        self.model.train()
        return right / total


class ImageTrainer:
    def __init__(self, classes: int, batch: int, size: int) -> None:
        self.model = SmallNet(classes).cuda()
        self.model.to(memory_format=torch.channels_last)
        self.validator = Validator(self.model)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
        self.x = torch.zeros(batch, 3, size, size, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._capture()

    def _step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(self.model(self.x), self.y).backward()
        self.opt.step()

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self._step()

    def fit(self, train_loader, val_loader, epochs: int) -> list[float]:
        scores = []
        for _ in range(epochs):
            for x, y in train_loader:
                self.x.copy_(x, non_blocking=True)
                self.y.copy_(y, non_blocking=True)
                self.graph.replay()
            scores.append(self.validator.accuracy(val_loader))
        return scores
