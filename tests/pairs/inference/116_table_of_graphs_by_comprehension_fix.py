"""Fixed form: the comprehension goes through the sizes from the largest down."""

from typing import NamedTuple

import torch
import torch.nn as nn


class Captured(NamedTuple):
    graph: torch.cuda.CUDAGraph
    out: torch.Tensor


class SizeTable:
    SIZES = (1, 2, 4, 8, 16, 32)

    def __init__(self, net: nn.Module, width: int):
        self.net = net.cuda().eval()
        self.x = torch.zeros(max(self.SIZES), width, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            self.table = {size: self._capture(size) for size in reversed(self.SIZES)}

    def _capture(self, size: int) -> Captured:
        x = self.x[:size]
        for _ in range(2):
            self.net(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.net(x)
        return Captured(graph, out)

    def _size_for(self, rows: int) -> int:
        return next(size for size in self.SIZES if size >= rows)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.shape[0]
        size = self._size_for(rows)
        self.x[:rows].copy_(x)
        self.x[rows:size].zero_()
        graph, out = self.table[size]
        graph.replay()
        return out[:rows].clone()


def build(width: int) -> SizeTable:
    return SizeTable(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)), width)
