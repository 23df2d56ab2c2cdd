"""Symptom: the number of cache blocks is corrected after the graphs were captured; the new cache is bound to
every attention layer, and the graphs write to the old one.
"""

import torch
import torch.nn as nn


class CacheOwner(nn.Module):
    def __init__(self):
        super().__init__()
        self.kv_cache = torch.tensor([])

    def bind(self, cache: torch.Tensor) -> None:
        self.kv_cache = cache  # HAZARD: rebind-static-input


class BlockAttention(CacheOwner):
    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        self.kv_cache.index_copy_(0, slots, k + v)
        return (q @ self.kv_cache.t()).softmax(-1) @ self.kv_cache


class BlockModel(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList([BlockAttention(width) for _ in range(depth)])

    def forward(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, slots)
        return x


class BaseRunner:
    def __init__(self, width: int, depth: int, batch: int):
        self.width = width
        self.model = BlockModel(width, depth).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.slots = torch.zeros(batch, dtype=torch.long, device="cuda")

    def initialize_cache(self, blocks: int) -> None:
        for layer in self.model.layers:
            layer.bind(torch.zeros(blocks, self.width, device="cuda"))


class GraphRunner(BaseRunner):
    def __init__(self, width: int, depth: int, batch: int, blocks: int):
        super().__init__(width, depth, batch)
        self.graph = torch.cuda.CUDAGraph()
        self.initialize_cache(blocks)
        self.capture()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.x, self.slots)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x, self.slots)

    def resize_cache(self, blocks: int) -> None:
        self.initialize_cache(blocks)

    def execute(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.slots.copy_(slots)
        self.graph.replay()
        return self.y.clone()
