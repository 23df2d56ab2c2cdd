"""Drawn from whole-step capture under mixed precision (the documentation asks for cache_enabled=False).

Symptom: forward is decorated with autocast, whose cache keeps the half-precision weights. Warm-up and
capture run under one outer autocast, so that the captured code reads copies made before.
"""

from typing import ClassVar

import torch
from torch import nn


class MixedModel(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.relu(self.a(x)))


class MixedTrainer:
    precision: ClassVar = {"device_type": "cuda", "dtype": torch.bfloat16}

    def __init__(self, width: int):
        self.net = MixedModel(width).cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, width, device="cuda")
        self.y = torch.zeros(8, width, device="cuda")

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = (self.net(self.x).float() - self.y).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self) -> None:
        with torch.autocast(**self.precision):  # ALT: training
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self._step()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # HAZARD: training
                self.loss = self._step()

    def step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss.clone()
