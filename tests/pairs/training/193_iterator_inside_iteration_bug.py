"""Drawn from Megatron-LM's full-iteration graphs (its static data loader exists for this reason).

Symptom: the captured function takes its micro batches from the data iterator itself. Python does
not run at a replay, so that all iterations train on the batches of the capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class TrainConfig:
    micro_batches: int = 4
    micro_size: int = 8
    width: int = 64
    warmup_iterations: int = 3
    lr: float = 1e-3


class DeviceLoader:
    """Moves batches to the device ahead of time."""

    def __init__(self, source, cfg: TrainConfig):
        self.source, self.cfg = source, cfg
        self.iterator: Iterator | None = None

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        for batch in self.source:
            yield {name: value.to("cuda", non_blocking=True) for name, value in batch.items()}


class Schedule:
    def __init__(self, model: nn.Module, cfg: TrainConfig):
        self.model, self.cfg = model, cfg
        self.criterion = nn.MSELoss()

    def forward_backward(self, data) -> torch.Tensor:
        total = torch.zeros((), device="cuda")
        for _ in range(self.cfg.micro_batches):
            batch = next(data)  # HAZARD: rebind-static-input, frozen-scalar, side-effect, pageable-copy
            loss = self.criterion(self.model(batch["x"]), batch["y"]) / self.cfg.micro_batches
            loss.backward()
            total += loss.detach()
        return total


class FullIteration:
    def __init__(self, schedule: Schedule, cfg: TrainConfig):
        self.schedule, self.cfg = schedule, cfg
        self.graph: torch.cuda.CUDAGraph | None = None
        self.loss: torch.Tensor | None = None
        self.iterations = 0

    def __call__(self, data) -> torch.Tensor:
        self.iterations += 1
        if self.iterations <= self.cfg.warmup_iterations:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                loss = self.schedule.forward_backward(data)
            torch.cuda.current_stream().wait_stream(side)
            return loss
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            for p in self.schedule.model.parameters():
                p.grad = torch.zeros_like(p)
            with torch.cuda.graph(self.graph):
                for p in self.schedule.model.parameters():
                    p.grad.zero_()
                self.loss = self.schedule.forward_backward(data)
        self.graph.replay()
        return self.loss.clone()


def train(model: nn.Module, source, iterations: int) -> None:
    cfg = TrainConfig()
    step = FullIteration(Schedule(model, cfg), cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    data = iter(DeviceLoader(source, cfg))
    for i in range(iterations):
        loss = step(data)
        optimizer.step()
        if i <= cfg.warmup_iterations - 1:
            optimizer.zero_grad(set_to_none=False)
        if i % 50 == 0:
            print(i, loss.item())
