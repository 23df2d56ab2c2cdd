"""Drawn from averaging callbacks that ask for "the main stream" (compare swa and ema callbacks of trainers).

Symptom: the capture aborts, because the callback launches its update on the default stream while another stream
is being recorded.
"""

from __future__ import annotations

import copy
from typing import Protocol

import torch
from torch import nn


class Callback(Protocol):
    def after_step(self, trainer: Trainer) -> None: ...


class AverageCallback:
    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        self.shadow = copy.deepcopy(model).requires_grad_(False)
        self.weight = 1.0 - decay

    @torch.no_grad()
    def after_step(self, trainer: Trainer) -> None:
        with torch.cuda.stream(torch.cuda.default_stream()):  # ALT: stream-escape
            for mine, theirs in zip(self.shadow.parameters(), trainer.model.parameters()):
                mine.lerp_(theirs, self.weight)  # HAZARD: stream-escape


class Trainer:
    def __init__(self, model: nn.Module, callbacks: list[Callback], features: int, size: int) -> None:
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.x = torch.zeros(size, features, device="cuda")
        self.y = torch.zeros(size, dtype=torch.long, device="cuda")
        self.graph = None

    def _iteration(self) -> torch.Tensor:
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.opt.step()
        for callback in self.callbacks:
            callback.after_step(self)
        return loss

    def _prepare(self) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._iteration()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            self.loss = self._iteration()

    def fit(self, loader) -> float:
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            if self.graph is None:
                self._prepare()
            self.graph.replay()
        return self.loss.item()


def main(loader) -> None:
    model = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 5)).cuda()
    average = AverageCallback(model)
    print(Trainer(model, [average], 20, 128).fit(loader))
