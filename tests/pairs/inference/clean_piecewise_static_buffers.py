"""Clean: recorded pieces with an eager part between them; each eager part writes into the buffer that
the next piece was recorded with, entries are kept per token count, and outputs are copied out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn as nn


class Stage(Protocol):
    def __call__(self, x: torch.Tensor) -> torch.Tensor: ...


@dataclass
class Entry:
    graph: torch.cuda.CUDAGraph
    source: torch.Tensor
    result: torch.Tensor


class Recorded:
    pool = None

    def __init__(self, fn: Callable[[torch.Tensor], torch.Tensor]):
        self.fn = fn
        self.entries: dict[int, Entry] = {}

    def _entry(self, x: torch.Tensor) -> Entry:
        source = x.clone()
        for _ in range(2):
            self.fn(source)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=Recorded.pool):
            result = self.fn(source)
        Recorded.pool = Recorded.pool or graph.pool()
        return Entry(graph, source, result)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        entry = self.entries.get(x.shape[0])
        if entry is None:
            entry = self.entries[x.shape[0]] = self._entry(x)
        entry.source.copy_(x)
        entry.graph.replay()
        return entry.result


class Router:
    """Eager: how many rows an expert gets is known on the host only."""

    def __init__(self, experts: list[nn.Module], width: int, rows: int):
        self.experts = experts
        self.out = torch.zeros(rows, width, device="cuda")

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        out = self.out[: x.shape[0]]
        choice = x.sum(-1).long().remainder(len(self.experts))
        for index in choice.unique().tolist():
            rows = (choice == index).nonzero().squeeze(-1)
            out[rows] = self.experts[index](x[rows])
        return out


class Pipeline:
    def __init__(self, width: int, rows: int, layers: int = 2):
        self.stages: list[Stage] = []
        for _ in range(layers):
            experts = [nn.Linear(width, width, device="cuda") for _ in range(4)]
            before = nn.Sequential(nn.Linear(width, width), nn.GELU()).cuda()
            self.stages += [Recorded(before), Router(experts, width, rows)]
        self.stages.append(Recorded(nn.LayerNorm(width).cuda()))

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        for stage in self.stages:
            x = stage(x)
        return x.clone()
