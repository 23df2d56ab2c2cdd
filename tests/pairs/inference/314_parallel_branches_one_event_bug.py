"""Source: NVIDIA/TensorRT-LLM#5988, NVIDIA/TensorRT-LLM#6710

Symptom: the helper that runs two branches on two streams makes the auxiliary stream wait for the
main one, but the main stream goes on without waiting for the auxiliary one; ending the capture
reports unjoined work.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn


def maybe_execute_in_parallel(
    fn0: Callable[[], Any],
    fn1: Callable[[], Any],
    event0: torch.cuda.Event,
    event1: torch.cuda.Event,
    aux_stream: torch.cuda.Stream | None = None,
) -> tuple[Any, Any]:
    if aux_stream is None:
        return fn0(), fn1()
    event0.record()
    result0 = fn0()
    with torch.cuda.stream(aux_stream):  # HAZARD: stream-escape
        event0.wait()
        result1 = fn1()
        event1.record()
    return result0, result1


class DeepMoE(nn.Module):
    def __init__(self, width: int, aux_stream: torch.cuda.Stream):
        super().__init__()
        self.routed = nn.Linear(width, width)
        self.shared = nn.Linear(width, width)
        self.aux_stream = aux_stream
        self.events = [torch.cuda.Event(), torch.cuda.Event()]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        routed, shared = maybe_execute_in_parallel(
            lambda: self.routed(x), lambda: self.shared(x), *self.events, self.aux_stream
        )
        return routed + shared


class Engine:
    def __init__(self, width: int, batch: int, layers: int):
        self.aux_stream = torch.cuda.Stream()
        self.layers = nn.ModuleList(DeepMoE(width, self.aux_stream) for _ in range(layers)).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        h = self.x
        for layer in self.layers:
            h = layer(h)
        return h

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):  # ALT: stream-escape
            self.y = self._forward()

    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
