"""Drawn from quantisation aware training: observers are switched off after a few epochs.

Fix: the flag is a tensor on the device that weights the update.
"""

from __future__ import annotations

import torch
from torch import nn


class FakeQuant(nn.Module):
    def __init__(self, momentum: float = 0.01) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.ones(()))
        self.register_buffer("observing", torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.low.lerp_(x.detach().amin(), self.momentum * self.observing)
        self.high.lerp_(x.detach().amax(), self.momentum * self.observing)
        scale = (self.high - self.low).clamp(min=1e-6) / 255
        quantised = torch.round((x - self.low) / scale).clamp(0, 255) * scale + self.low
        return x + (quantised - x).detach()


def freeze(module: nn.Module) -> None:
    if isinstance(module, FakeQuant):
        module.observing.zero_()


def network(width: int, classes: int) -> nn.Sequential:
    return nn.Sequential(
        FakeQuant(),
        nn.Linear(width, 256),
        nn.ReLU(),
        FakeQuant(),
        nn.Linear(256, classes),
    )


class QuantTrainer:
    def __init__(self, width: int, classes: int, batch: int, freeze_after: int) -> None:
        self.net = network(width, classes).cuda()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-4, capturable=True)
        self.freeze_after = freeze_after
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.long, device="cuda")

    def _iteration(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def fit(self, loader, epochs: int) -> list[float]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._iteration()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._iteration()
        curve = []
        for epoch in range(epochs):
            if epoch == self.freeze_after:
                self.net.apply(freeze)
            for x, y in loader:
                self.x.copy_(x)
                self.y.copy_(y)
                graph.replay()
            curve.append(loss.item())
        return curve
