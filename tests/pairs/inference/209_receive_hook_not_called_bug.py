"""After expert parallelism whose dispatch returns a hook that joins the communication.

Symptom: with overlap the hook is dropped, the stream of the exchange is forked from the captured one and never
comes back to it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn


class LowLatencyBuffer:
    def __init__(self, tokens: int, width: int):
        self.received = torch.zeros(tokens, width, device="cuda")
        self.comm = torch.cuda.Stream()

    def dispatch(self, x: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None]]:
        self.comm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.comm):  # HAZARD: stream-escape
            self.received.copy_(x)

        def hook() -> None:
            torch.cuda.current_stream().wait_stream(self.comm)

        return self.received, hook


class ExpertLayer(nn.Module):
    def __init__(self, width: int, buffer: LowLatencyBuffer, overlap: bool):
        super().__init__()
        self.shared = nn.Linear(width, width)
        self.expert = nn.Linear(width, width)
        self.buffer, self.overlap = buffer, overlap

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, hook = self.buffer.dispatch(x)
        shared = self.shared(x)
        if not self.overlap:
            hook()
        return shared + self.expert(rows)


def record_layer(width: int, tokens: int):
    layer = ExpertLayer(width, LowLatencyBuffer(tokens, width), overlap=True).cuda()
    x = torch.zeros(tokens, width, device="cuda")
    with torch.no_grad():
        for _ in range(2):
            layer(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # ALT: stream-escape
            y = layer(x)
    return layer, graph, x, y
