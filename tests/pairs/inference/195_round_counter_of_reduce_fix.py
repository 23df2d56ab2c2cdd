"""After a quantised all-reduce that tells its rounds apart by a counter of the host.

Fixed form: the number of the round is on the device and the recorded work advances it.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class QuickReduce:
    def __init__(self, blocks: int, width: int, world: int):
        self.world = world
        self.flags = torch.zeros(world, blocks, dtype=torch.int32, device="cuda")
        self.inbox = torch.zeros(world, width, device="cuda")
        self.round = torch.ones((), dtype=torch.int32, device="cuda")

    def _exchange(self, x: torch.Tensor, color: torch.Tensor) -> torch.Tensor:
        self.flags.copy_(color.expand_as(self.flags))
        ready = (self.flags == color).all(dim=1, keepdim=True)
        total = torch.where(ready, self.inbox, torch.zeros_like(self.inbox)).sum(0)
        return x + total

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        out = self._exchange(x, self.round)
        self.round.add_(1)
        return out


class RowParallel(nn.Module):
    def __init__(self, width: int, comm: QuickReduce):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width, device="cuda"), requires_grad=False)
        self.comm = comm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.comm.all_reduce(torch.nn.functional.linear(x, self.weight))


class TensorParallelBlock(nn.Module):
    def __init__(self, width: int, depth: int, comm: QuickReduce):
        super().__init__()
        self.layers = nn.ModuleList(RowParallel(width, comm) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


class RankWorker:
    def __init__(self, block: TensorParallelBlock, width: int):
        self.block = block
        self.x = torch.zeros(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def record(self) -> None:
        for _ in range(2):
            self.block(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.block(self.x)

    @torch.inference_mode()
    def execute(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
