"""Clean: graphs are for pure decoding; a batch with prefill rows goes through the eager path before anything of the
graph is touched."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Plan:
    decodes: int
    prefills: int
    lengths: torch.Tensor


class SplitModel(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.short = nn.Linear(width, width, device="cuda")
        self.long = nn.Linear(width, width, device="cuda")

    def forward(self, x: torch.Tensor, plan: Plan) -> torch.Tensor:
        if plan.prefills == 0:
            return self.short(x)
        return torch.cat([self.short(x[: plan.decodes]), self.long(x[plan.decodes :])])


class DecodeOnlyRunner:
    SIZES = (32, 16, 8)

    def __init__(self, width: int):
        self.model = SplitModel(width)
        self.x = torch.zeros(self.SIZES[0], width, device="cuda")
        self.lengths = torch.ones(self.SIZES[0], dtype=torch.int32, device="cuda")
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for size in self.SIZES:
            plan = Plan(size, 0, self.lengths[:size])
            for _ in range(2):
                self.model(self.x[:size], plan)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                out = self.model(self.x[:size], plan)
            self.graphs[size] = (graph, out)

    @torch.inference_mode()
    def execute(self, x: torch.Tensor, lengths: torch.Tensor, prefills: int) -> torch.Tensor:
        n = x.shape[0]
        plan = Plan(n - prefills, prefills, lengths)
        if prefills or n > self.SIZES[0]:
            return self.model(x, plan)
        size = min(s for s in self.SIZES if s >= n)
        self.x[:n].copy_(x)
        self.x[n:size].zero_()
        self.lengths[:n].copy_(lengths)
        self.lengths[n:size].fill_(1)
        graph, out = self.graphs[size]
        graph.replay()
        return out[:n].clone()
