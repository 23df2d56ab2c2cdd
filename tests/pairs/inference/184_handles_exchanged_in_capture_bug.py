"""After custom all-reduce, which registers the buffers that a graph uses with the other ranks.

Symptom: the exchange of handles runs when the communicator's context is left, which is inside of the capture;
it sends Python objects, and that waits for the device.
"""

from __future__ import annotations

from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.nn as nn


class CustomAllReduce:
    def __init__(self, group, world: int):
        self.group, self.world = group, world
        self.pending: list[int] = []
        self.peers: list[list[int]] = []

    def reduce(self, x: torch.Tensor) -> torch.Tensor:
        self.pending.append(x.data_ptr())
        out = torch.empty_like(x)
        out.copy_(x)
        dist.all_reduce(out, group=self.group)
        return out

    def register_graph_buffers(self) -> None:
        everybody = [None] * self.world
        dist.all_gather_object(
            everybody, self.pending, group=self.group
        )  # HAZARD: implicit-sync, sync-in-capture
        self.peers = everybody

    @contextmanager
    def capture(self):
        self.pending = []
        try:
            yield
        finally:
            self.register_graph_buffers()


class ParallelRunner:
    def __init__(self, shard: nn.Module, reducer: CustomAllReduce, batch: int, width: int):
        self.shard, self.reducer = shard, reducer
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        return self.reducer.reduce(self.shard(self.x))

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph), self.reducer.capture():
            self.y = self._forward()

    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
