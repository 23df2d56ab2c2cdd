"""Drawn from loss scalers written by hand for captured steps.

Fix: the scale is multiplied in place.
"""

from __future__ import annotations

import torch
from torch import nn


class DynamicScale:
    def __init__(self, start: float = 2.0**15, interval: int = 2000) -> None:
        self.scale = torch.full((), start, device="cuda")
        self.found = torch.zeros((), device="cuda")
        self.interval = interval
        self.good = 0

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        return loss * self.scale

    @torch.no_grad()
    def unscale(self, params: list[nn.Parameter]) -> None:
        self.found.zero_()
        inverse = 1.0 / self.scale
        for p in params:
            p.grad.mul_(inverse)
            self.found.copy_(torch.maximum(self.found, (~torch.isfinite(p.grad)).any().float()))
            p.grad.nan_to_num_(0.0, 0.0, 0.0)

    def adjust(self) -> bool:
        bad = bool(self.found.item())
        self.good = 0 if bad else self.good + 1
        if bad:
            self.scale.mul_(0.5)
        elif self.good >= self.interval:
            self.scale.mul_(2.0)
            self.good = 0
        return not bad


class HalfTrainer:
    def __init__(self, net: nn.Module, batch: int, width: int) -> None:
        self.net = net.cuda()
        self.params = [p for p in self.net.parameters() if p.requires_grad]
        self.scaler = DynamicScale()
        self.opt = torch.optim.SGD(self.params, lr=0.01, momentum=0.9)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _gradients(self) -> torch.Tensor:
        for p in self.params:
            p.grad = None
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            loss = self.net(self.x).float().square().mean()
        self.scaler.scaled(loss).backward()
        self.scaler.unscale(self.params)
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._gradients()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._gradients()

    def step(self, x: torch.Tensor) -> float | None:
        self.x.copy_(x, non_blocking=True)
        self.graph.replay()
        if not self.scaler.adjust():
            return None
        self.opt.step()
        return self.loss.item()
