"""Symptom: one workspace serves all sizes and grows on demand. A smaller batch takes a split kernel
that needs more of it, so the workspace is replaced after larger graphs were recorded with the old one.
"""

import torch
import torch.nn as nn


class Workspace:
    def __init__(self):
        self.buffer = torch.empty(0, device="cuda")

    def need(self, numel: int) -> torch.Tensor:
        if self.buffer.numel() < numel:
            self.buffer = torch.empty(numel, device="cuda")  # HAZARD: stale-pointer
        return self.buffer


class SplitAttention(nn.Module):
    def __init__(self, width: int, workspace: Workspace):
        super().__init__()
        self.proj = nn.Linear(width, width, device="cuda")
        self.workspace = workspace

    def splits_for(self, batch: int) -> int:
        return 16 if batch <= 4 else 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        splits = self.splits_for(x.shape[0])
        scratch = self.workspace.need(splits * x.numel())
        part = scratch[: splits * x.numel()].view(splits, *x.shape)
        part.copy_(self.proj(x).expand(splits, *x.shape))
        return part.mean(0)


class GenerationGraphs:
    def __init__(self, attn: SplitAttention, width: int, sizes=(32, 16, 8, 4, 2, 1)):
        self.attn, self.sizes = attn, sizes
        self.x = torch.zeros(sizes[0], width, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.outs: dict[int, torch.Tensor] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def _warm(self, bs: int) -> None:
        for _ in range(2):
            self.attn(self.x[:bs])
        torch.cuda.synchronize()

    def _capture(self, bs: int) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self.outs[bs] = self.attn(self.x[:bs])
        self.graphs[bs] = graph

    @torch.inference_mode()
    def build(self) -> None:
        for bs in self.sizes:
            self._warm(bs)
            self._capture(bs)

    def run(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        bs = min(s for s in self.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:bs].zero_()
        self.graphs[bs].replay()
        return self.outs[bs][:n].clone()
