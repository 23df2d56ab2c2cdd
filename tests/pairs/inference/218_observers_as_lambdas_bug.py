"""Another shape of the layer statistics: observers are lambdas in a dict, and the capture is a helper that is
given a callable.

Symptom: one of the observers reads the largest activation.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn


def recorded(fn: Callable[[], torch.Tensor], warmups: int = 2):
    for _ in range(warmups):
        fn()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = fn()
    return graph, out


def make_observers(log: list[float]) -> dict[str, Callable[[torch.Tensor], None]]:
    return {
        "shape": lambda h: None,
        "peak": lambda h: log.append(float(h.abs().max())),  # HAZARD: sync-in-capture
    }


def observed(model: nn.Module, observers) -> Callable[[torch.Tensor], torch.Tensor]:
    def forward(x: torch.Tensor) -> torch.Tensor:
        h = model(x)
        for name in sorted(observers):
            observers[name](h)
        return h

    return forward


@torch.inference_mode()
def serve(model: nn.Module, batches: list[torch.Tensor], width: int) -> list[int]:
    log: list[float] = []
    forward = observed(model.cuda(), make_observers(log))
    static = torch.zeros(8, width, device="cuda")
    graph, out = recorded(lambda: forward(static))
    tokens = []
    for batch in batches:
        static.copy_(batch)
        graph.replay()
        tokens += out.argmax(-1).tolist()
    return tokens
