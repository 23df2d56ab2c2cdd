"""Drawn from weather and fluid emulators that train on longer and longer rollouts.

Symptom: a callback makes the rollout longer every few epochs; the captured loss keeps the number of steps that it
was captured with.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import nn


class Callback(Protocol):
    def on_epoch_end(self, trainer: Trainer, epoch: int) -> None: ...


class Emulator(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(channels, 64, 3, padding=1), nn.GELU(), nn.Conv2d(64, channels, 3, padding=1)
        )

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return state + self.net(state)


class RolloutLoss(nn.Module):
    def __init__(self, model: Emulator, steps: int = 1) -> None:
        super().__init__()
        self.model = model
        self.steps = steps

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        current = states[:, 0]
        loss = torch.zeros((), device=states.device)
        for step in range(self.steps):  # HAZARD: frozen-scalar
            current = self.model(current)
            loss = loss + (current - states[:, step + 1]).square().mean()
        return loss / self.steps  # ALT: frozen-scalar


class LongerRollout:
    def __init__(self, every: int, most: int) -> None:
        self.every, self.most = every, most

    def on_epoch_end(self, trainer: Trainer, epoch: int) -> None:
        if (epoch + 1) % self.every == 0 and trainer.loss_fn.steps < self.most:
            trainer.loss_fn.steps += 1  # ALT: frozen-scalar


class Trainer:
    def __init__(self, channels: int, size: int, most: int, callbacks: list[Callback]) -> None:
        self.loss_fn = RolloutLoss(Emulator(channels)).cuda()
        self.callbacks = callbacks
        self.opt = torch.optim.AdamW(self.loss_fn.parameters(), lr=1e-3, capturable=True)
        self.states = torch.zeros(8, most + 1, channels, size, size, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.states)
        loss.backward()
        self.opt.step()
        return loss

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def fit(self, loader, epochs: int) -> None:
        for epoch in range(epochs):
            for states in loader:
                self.states.copy_(states)
                if self.graph is None:
                    self._capture()
                self.graph.replay()
            for callback in self.callbacks:
                callback.on_epoch_end(self, epoch)


def main(loader) -> None:
    Trainer(4, 64, most=8, callbacks=[LongerRollout(every=5, most=8)]).fit(loader, epochs=40)
