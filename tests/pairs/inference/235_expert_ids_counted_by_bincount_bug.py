"""After a load balancer that counts how often experts are chosen.

Symptom: `bincount` asks the device how long its result is, even where a minimum is given.
"""

from __future__ import annotations

from collections import deque

import torch
import torch.nn as nn


class LoadWindow:
    def __init__(self, experts: int, steps: int = 100):
        self.experts = experts
        self.total = torch.zeros(experts, dtype=torch.long, device="cuda")
        self.history: deque[list[int]] = deque(maxlen=steps)

    def observe(self, ids: torch.Tensor) -> None:
        self.total += torch.bincount(
            ids.flatten(), minlength=self.experts
        )  # HAZARD: dynamic-shape, implicit-sync

    def close_step(self) -> None:
        self.history.append(self.total.tolist())
        self.total.zero_()


class Experts(nn.Module):
    def __init__(self, experts: int, width: int, window: LoadWindow):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.weight = nn.Parameter(torch.zeros(experts, width, width))
        self.window = window

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score, ids = self.gate(x).softmax(-1).topk(2)
        self.window.observe(ids)
        return torch.einsum("bd,bkde,bk->be", x, self.weight[ids], score)


class Balanced:
    def __init__(self, experts: Experts, batch: int, width: int):
        self.experts = experts.cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.experts(self.x)
        self.experts.window.total.zero_()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.experts(self.x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        out = self.y.clone()
        self.experts.window.close_step()
        return out
