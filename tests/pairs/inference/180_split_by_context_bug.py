"""After mixed batches under piecewise graphs: prefill rows and decode rows in one piece.

Symptom: how many rows are prefill comes from the forward context of the batch; the boundary of the capture is
part of the graph.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class BatchContext:
    num_prefill: int
    lengths: torch.Tensor


_context: BatchContext | None = None


@contextlib.contextmanager
def set_context(context: BatchContext):
    global _context
    before, _context = _context, context
    try:
        yield
    finally:
        _context = before


def get_context() -> BatchContext:
    assert _context is not None
    return _context


class MixedLayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.long = nn.Linear(width, width, device="cuda")
        self.short = nn.Linear(width, width, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = get_context().num_prefill
        return torch.cat([self.long(x[:n]), self.short(x[n:])])  # HAZARD: frozen-scalar


class MixedRunner:
    def __init__(self, width: int, tokens: int):
        self.layer = MixedLayer(width)
        self.x = torch.zeros(tokens, width, device="cuda")
        self.lengths = torch.ones(tokens, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        with set_context(BatchContext(0, self.lengths)):
            for _ in range(2):
                self.layer(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.layer(self.x)

    @torch.inference_mode()
    def execute(self, x: torch.Tensor, lengths: torch.Tensor, num_prefill: int) -> torch.Tensor:
        self.x[: x.shape[0]].copy_(x)
        self.lengths[: x.shape[0]].copy_(lengths)
        with set_context(BatchContext(num_prefill, self.lengths)):
            self.graph.replay()
        return self.y[: x.shape[0]].clone()
