"""After a runner that tells its layers about the batch through an ambient object.

Symptom: layers cut their inputs to the number of tokens that the ambient object names; the graphs are kept by
padded size, and a smaller batch is computed with the number of the recorded one.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class BatchContext:
    num_tokens: int = 0


_CONTEXT = BatchContext()


@contextmanager
def batch_context(num_tokens: int):
    previous = _CONTEXT.num_tokens
    _CONTEXT.num_tokens = num_tokens  # HAZARD: frozen-scalar, dynamic-shape
    try:
        yield
    finally:
        _CONTEXT.num_tokens = previous


class MeanPooledRouter(nn.Module):
    def __init__(self, width: int, experts: int):
        super().__init__()
        self.gate = nn.Linear(width, experts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.gate(x)
        load = scores[: _CONTEXT.num_tokens].mean(0)  # HAZARD: frozen-scalar, dynamic-shape
        return x * (scores - load).softmax(-1).amax(-1, keepdim=True)


class PaddedRunner:
    def __init__(self, model: MeanPooledRouter, width: int, sizes: list[int]):
        self.model = model.cuda()
        self.sizes = sorted(sizes)
        self.x = torch.zeros(self.sizes[-1], width, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.outs: dict[int, torch.Tensor] = {}

    def _record(self, size: int, num_tokens: int) -> None:
        x = self.x[:size]
        with batch_context(num_tokens):
            for _ in range(2):
                self.model(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.outs[size] = self.model(x)
            self.graphs[size] = graph

    @torch.inference_mode()
    def execute(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        size = next(s for s in self.sizes if s >= n)
        if size not in self.graphs:
            self._record(size, n)
        self.x[:n].copy_(x)
        self.x[n:size].zero_()
        self.graphs[size].replay()
        return self.outs[size][:n].clone()
