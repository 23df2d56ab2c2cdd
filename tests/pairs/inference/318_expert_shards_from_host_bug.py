"""Source: kvcache-ai/ktransformers#1147, sgl-project/sglang#11026

Symptom: offloaded expert weights come from pinned memory layer by layer during the recorded decode
step, but the copies are blocking; the first one ends the capture.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class HostShard:
    """Weights of one layer in pinned memory, and the device slot they are loaded into."""

    def __init__(self, width: int, slot: torch.Tensor):
        self.host = torch.zeros(width, width).pin_memory()
        self.slot = slot

    def load(self) -> torch.Tensor:
        self.slot.copy_(self.host)  # HAZARD: implicit-sync
        return self.slot


class OffloadedMLP(nn.Module):
    def __init__(self, shard: HostShard):
        super().__init__()
        self.shard = shard

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x @ self.shard.load())


def build(layers: int, width: int) -> nn.Sequential:
    slots = [torch.empty(width, width, device="cuda") for _ in range(2)]
    return nn.Sequential(*(OffloadedMLP(HostShard(width, slots[i % 2])) for i in range(layers)))


class OffloadRunner:
    sizes = (8, 4, 2, 1)

    def __init__(self, net: nn.Sequential, width: int):
        self.net = net
        self.x = torch.zeros(self.sizes[0], width, device="cuda")
        self.table: dict[int, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}

    @torch.inference_mode()
    def capture(self) -> OffloadRunner:
        pool = torch.cuda.graph_pool_handle()
        for size in self.sizes:
            x = self.x[:size]
            self.net(x)
            self.net(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                y = self.net(x)
            self.table[size] = (graph, y)
        return self

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        size = next(s for s in reversed(self.sizes) if s >= n)
        self.x[:n] = x
        self.x[n:size] = 0
        graph, y = self.table[size]
        graph.replay()
        return y[:n].clone()
