"""Drawn from vllm's forward context and its users.

Symptom: the layer cuts its rows by the number of tokens in the current context. The context is set for
each step, and the graph has cut by the number of the capture.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class StepContext:
    tokens: int
    uniform: bool = True


_current: ContextVar[StepContext | None] = ContextVar("step", default=None)


@contextmanager
def step_context(tokens: int):
    token = _current.set(StepContext(tokens))
    try:
        yield
    finally:
        _current.reset(token)


class RowGate(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.gate = nn.Linear(width, width, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.sigmoid(self.gate(x))
        return x * y


class Runner:
    def __init__(self, layer: RowGate, rows: int, width: int):
        self.layer, self.rows = layer, rows
        self.x = torch.zeros(rows, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        with step_context(self.rows):
            for _ in range(2):
                self.layer(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.layer(self.x)

    @torch.inference_mode()
    def run(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        with step_context(n):
            self.x[:n].copy_(x)
            self.x[n:].zero_()
            self.graph.replay()
        return self.y[:n].clone()
