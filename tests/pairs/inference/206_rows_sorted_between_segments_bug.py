"""After piecewise graphs whose eager part sorts rows by adapter.

Symptom: the eager part returns fresh tensors of rows and offsets; the segment after it was recorded with those
of the capture.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class Aligner:
    def __init__(self, block: int):
        self.block = block

    def __call__(self, adapters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        order = torch.empty_like(adapters)
        order.copy_(adapters.argsort(stable=True))
        offsets = torch.empty(self.block, dtype=torch.long, device=adapters.device)
        offsets.copy_(torch.searchsorted(adapters[order], torch.arange(self.block, device=adapters.device)))
        return order, offsets


class SplitRunner:
    def __init__(self, lower: nn.Module, upper: nn.Module, aligner: Aligner, tokens: int, width: int):
        self.lower, self.upper, self.aligner = lower, upper, aligner
        self.x = torch.zeros(tokens, width, device="cuda")
        self.adapters = torch.zeros(tokens, dtype=torch.long, device="cuda")
        self.first, self.second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        self.order: torch.Tensor | None = None
        self.offsets: torch.Tensor | None = None

    def _between(self) -> None:
        self.order, self.offsets = self.aligner(self.adapters)  # HAZARD: rebind-static-input

    @torch.inference_mode()
    def record(self) -> None:
        for _ in range(2):
            self.upper(self.lower(self.x), *self.aligner(self.adapters))
        torch.cuda.synchronize()
        with torch.cuda.graph(self.first):
            self.hidden = self.lower(self.x)
        self._between()
        with torch.cuda.graph(self.second, pool=self.first.pool()):
            self.out = self.upper(self.hidden, self.order, self.offsets)

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor, adapters: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.adapters.copy_(adapters)
        self.first.replay()
        self._between()
        self.second.replay()
        return self.out.clone()
