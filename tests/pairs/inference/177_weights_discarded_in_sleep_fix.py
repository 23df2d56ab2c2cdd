"""Weights stay where they are and are written in place."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn as nn


class SleepController:
    def __init__(self, model: nn.Module):
        self.model = model
        self.shapes: dict[str, torch.Size] = {}

    @property
    def asleep(self) -> bool:
        return bool(self.shapes)

    def sleep(self) -> None:
        for name, parameter in self.model.named_parameters():
            self.shapes[name] = parameter.shape
            parameter.data = torch.empty(0, device="cuda")
        torch.cuda.empty_cache()

    def wake_up(self) -> None:
        for name, parameter in self.model.named_parameters():
            parameter.data = torch.empty(self.shapes.pop(name), device="cuda")

    def load(self, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
        own = dict(self.model.named_parameters())
        for name, value in weights:
            own[name].data.copy_(value)


class RolloutEngine:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.model = model
        self.sleeper = SleepController(model)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def start(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def train_boundary(self, weights) -> None:
        self.sleeper.load(weights)

    def generate(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
