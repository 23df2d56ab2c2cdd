"""After a manager that begins and ends captures by itself, piece by piece.

Symptom: with adapters the warm-up leaves the side stream, and the capture begins on the default stream.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.nn as nn


class PieceRecorder:
    def __init__(self, layers: list[nn.Module], pool=None):
        self.layers = layers
        self.pool = pool if pool is not None else torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.graphs: list[torch.cuda.CUDAGraph] = []

    def _side(self, adapters: bool):
        return torch.cuda.stream(self.stream)

    def record(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(pool=self.pool)  # HAZARD: stream-escape, other
            x = layer(x)
            graph.capture_end()
            self.graphs.append(graph)
        return x

    def replay(self) -> None:
        for graph in self.graphs:
            graph.replay()


class PieceRunner:
    def __init__(self, layers: list[nn.Module], batch: int, width: int):
        self.recorder = PieceRecorder(layers)
        self.x = torch.zeros(batch, width, device="cuda")

    @torch.inference_mode()
    def capture(self) -> None:
        side = self.recorder.stream
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                x = self.x
                for layer in self.recorder.layers:
                    x = layer(x)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        with nullcontext():
            self.y = self.recorder.record(self.x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.recorder.replay()
        return self.y.clone()
