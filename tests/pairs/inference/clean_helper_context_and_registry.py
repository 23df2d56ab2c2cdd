"""Right: a capture helper of the project's own that holds side effects off while it records.

Builders register under a name; the engine asks them for callables and records those. The output is read on
the host before anything else is replayed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import ExitStack, contextmanager

import torch
import torch.nn as nn

BUILDERS: dict[str, Callable[[nn.Module, int, int], tuple[torch.Tensor, Callable[[], torch.Tensor]]]] = {}


def builder(name: str):
    def register(fn):
        BUILDERS[name] = fn
        return fn

    return register


@builder("logits")
def _logits(model: nn.Module, batch: int, width: int):
    x = torch.zeros(batch, width, device="cuda")
    return x, lambda: model(x)


@builder("greedy")
def _greedy(model: nn.Module, batch: int, width: int):
    x = torch.zeros(batch, width, device="cuda")
    return x, lambda: model(x).argmax(-1, keepdim=True)


@contextmanager
def quiet():
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def recording(graph: torch.cuda.CUDAGraph, pool=None):
    with ExitStack() as stack:
        stack.enter_context(quiet())
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.cuda.graph(graph, pool=pool))
        yield


class Recorded:
    def __init__(self, name: str, model: nn.Module, batch: int, width: int, pool):
        self.x, call = BUILDERS[name](model, batch, width)
        with torch.inference_mode():
            for _ in range(2):
                call()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with recording(self.graph, pool):
            self.out = call()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.out


class Engine:
    def __init__(self, model: nn.Module, batch: int, width: int):
        pool = torch.cuda.graph_pool_handle()
        self.calls = {name: Recorded(name, model, batch, width, pool) for name in BUILDERS}

    def next_tokens(self, x: torch.Tensor) -> list[int]:
        return self.calls["greedy"](x).flatten().tolist()

    def log_probabilities(self, x: torch.Tensor) -> torch.Tensor:
        return self.calls["logits"](x).log_softmax(-1)
