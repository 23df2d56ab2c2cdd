"""Another shape of scratch memory made on first use: a class method keeps it by stream in a class attribute.

Fixed form: the scratch memory is kept by device, and the warm-up has made it.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn as nn


class Scratch:
    _by_stream: ClassVar[dict[int, torch.Tensor]] = {}

    @classmethod
    def get(cls) -> torch.Tensor:
        stream = torch.cuda.current_device()
        try:
            return cls._by_stream[stream]
        except KeyError:
            made = cls._by_stream[stream] = torch.zeros(128, device="cuda")
            return made


def reduce_rows(x: torch.Tensor) -> torch.Tensor:
    scratch = Scratch.get()
    scratch[: x.shape[1]].add_(x.sum(0))
    return x - scratch[: x.shape[1]]


class Reducer(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return reduce_rows(x)


def build_all(width: int, batches: list[int]) -> dict[int, tuple]:
    reducer, table = Reducer(), {}
    pool = torch.cuda.graph_pool_handle()
    with torch.no_grad():
        for batch in sorted(batches, reverse=True):
            x = torch.zeros(batch, width, device="cuda")
            for _ in range(2):
                reducer(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                y = reducer(x)
            table[batch] = (graph, x, y)
    return table
