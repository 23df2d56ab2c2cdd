"""Drawn from throughput meters that time parts of a training step with events.

Symptom: the meter asks for the time between its events at the end of each step, inside the captured function; the
capture does not allow it.
"""

from __future__ import annotations

import torch
from torch import nn


class Meter:
    def __init__(self) -> None:
        self.start = torch.cuda.Event(enable_timing=True)
        self.stop = torch.cuda.Event(enable_timing=True)
        self.milliseconds: list[float] = []

    def __enter__(self) -> Meter:
        self.start.record()
        return self

    def __exit__(self, *details) -> None:
        self.stop.record()
        self.stop.synchronize()  # HAZARD: sync-in-capture
        self.milliseconds.append(self.start.elapsed_time(self.stop))  # HAZARD: sync-in-capture


class Convolutional(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(), nn.Flatten()
        )
        self.head = nn.LazyLinear(classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


class Timed:
    def __init__(self, batch: int, classes: int) -> None:
        self.net = Convolutional(classes).cuda()
        self.forward_meter, self.step_meter = Meter(), Meter()
        self.x = torch.zeros(batch, 1, 28, 28, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.net(self.x)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def _forward(self) -> torch.Tensor:
        with self.forward_meter:
            return nn.functional.cross_entropy(self.net(self.x), self.y)

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self._forward()
        loss.backward()
        self.opt.step()
        return loss

    def fit(self, loader) -> tuple[float, float]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._step()
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            with self.step_meter:
                graph.replay()
        times = self.step_meter.milliseconds
        return loss.item(), sum(times) / max(1, len(times))
