"""After an engine that keeps the experts in the memory of the host and computes them there.

Symptom: the rows go to the host and back through pinned memory, which may be recorded, but the host computes
only while the graph is recorded; replays copy the result of that one computation to the device.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class HostExperts(nn.Module):
    def __init__(self, batch: int, width: int):
        super().__init__()
        self.weight = torch.zeros(width, width)
        self.rows = torch.zeros(batch, width, pin_memory=True)
        self.result = torch.zeros(batch, width, pin_memory=True)
        self.out = torch.zeros(batch, width, device="cuda")

    def submit(self, x: torch.Tensor) -> None:
        self.rows.copy_(x, non_blocking=True)

    def compute(self) -> None:
        torch.mm(self.rows, self.weight, out=self.result)  # HAZARD: side-effect, frozen-scalar

    def fetch(self) -> torch.Tensor:
        self.out.copy_(self.result, non_blocking=True)
        return self.out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.submit(x)
        self.compute()
        return self.fetch()


class HybridLayer(nn.Module):
    def __init__(self, batch: int, width: int):
        super().__init__()
        self.attn = nn.Linear(width, width, device="cuda")
        self.experts = HostExperts(batch, width)
        self.out = nn.Linear(width, width, device="cuda")

    def before(self, x: torch.Tensor) -> None:
        self.experts.submit(self.attn(x))

    def after(self) -> torch.Tensor:
        return self.out(self.experts.fetch())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.experts(self.attn(x)))


class LayerGraph:
    def __init__(self, layer: HybridLayer, batch: int, width: int):
        self.layer = layer
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
