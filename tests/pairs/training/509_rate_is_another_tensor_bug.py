"""Drawn from questions about learning rates as tensors in captured optimizers.

Symptom: the rate is a tensor, as the documentation advises, but the schedule puts another tensor in its place for
each step; the graph reads the first one.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.optim import AdamW, Optimizer


class WarmupCosine:
    def __init__(self, optimizer: Optimizer, peak: float, warmup: int, total: int) -> None:
        self.optimizer = optimizer
        self.peak, self.warmup, self.total = peak, warmup, total
        self.number = 0

    def value(self) -> float:
        if self.number < self.warmup:
            return self.peak * (self.number + 1) / self.warmup
        progress = (self.number - self.warmup) / max(1, self.total - self.warmup)
        return 0.5 * self.peak * (1 + math.cos(math.pi * min(1.0, progress)))

    def step(self) -> None:
        self.number += 1
        rate = self.value()
        for group in self.optimizer.param_groups:
            group["lr"] = torch.tensor(
                rate, device="cuda"
            )  # HAZARD: rebind-static-input, frozen-scalar, stale-pointer


class Forecaster(nn.Module):
    def __init__(self, series: int, width: int, horizon: int) -> None:
        super().__init__()
        self.encoder = nn.LSTM(series, width, batch_first=True)
        self.head = nn.Linear(width, horizon)

    def forward(self, history: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = self.encoder(history)
        return self.head(hidden[-1])


class Forecasting:
    def __init__(self, series: int, window: int, horizon: int, batch: int, steps: int) -> None:
        self.model = Forecaster(series, 128, horizon).cuda()
        self.optimizer = AdamW(
            self.model.parameters(), lr=torch.tensor(1e-5, device="cuda"), weight_decay=0.01, capturable=True
        )
        self.schedule = WarmupCosine(self.optimizer, peak=3e-3, warmup=500, total=steps)
        self.history = torch.zeros(batch, window, series, device="cuda")
        self.future = torch.zeros(batch, horizon, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.captured = False

    def _step(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(self.model(self.history), self.future)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()
        self.captured = True

    def fit(self, loader) -> list[float]:
        curve = []
        for history, future in loader:
            self.history.copy_(history)
            self.future.copy_(future)
            if not self.captured:
                self._capture()
            self.graph.replay()
            self.schedule.step()
            curve.append(self.loss.detach().clone())
        return [float(value) for value in curve]
