"""After a causal video model with a rolling cache of keys.

Fixed form: the loop over the chunks says when one begins, and each of the two cases has its graph.
"""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F


class RollingCache:
    def __init__(self, length: int, heads: int, dim: int):
        self.k = torch.zeros(1, heads, length, dim, device="cuda")
        self.v = torch.zeros(1, heads, length, dim, device="cuda")
        self.end = torch.zeros(1, dtype=torch.long, device="cuda")


class CausalAttention(nn.Module):
    def __init__(self, heads: int, dim: int):
        super().__init__()
        self.heads, self.dim = heads, dim
        self.qkv = nn.Linear(heads * dim, 3 * heads * dim)

    def _make_room(self, cache: RollingCache, frames: int) -> None:
        cache.k.copy_(cache.k.roll(-frames, dims=2))
        cache.v.copy_(cache.v.roll(-frames, dims=2))
        cache.end.sub_(frames)

    def forward(self, x: torch.Tensor, cache: RollingCache, starts: bool) -> torch.Tensor:
        q, k, v = self.qkv(x).view(1, -1, 3, self.heads, self.dim).permute(2, 0, 3, 1, 4)
        frames = k.shape[2]
        if starts:
            self._make_room(cache, frames)
        where = cache.end + torch.arange(frames, device=x.device)
        cache.k.index_copy_(2, where, k)
        cache.v.index_copy_(2, where, v)
        out = F.scaled_dot_product_attention(q, cache.k, cache.v)
        return out.transpose(1, 2).reshape(1, -1, self.heads * self.dim)


class Denoiser(nn.Module):
    def __init__(self, depth: int, heads: int, dim: int):
        super().__init__()
        self.blocks = nn.ModuleList([CausalAttention(heads, dim) for _ in range(depth)])

    def forward(self, x: torch.Tensor, caches: list[RollingCache], starts: bool) -> torch.Tensor:
        for block, cache in zip(self.blocks, caches):
            x = x + block(x, cache, starts)
        return x


class GraphDispatch:
    """One graph for the step that begins a chunk and one for the others."""

    def __init__(self, denoiser: Denoiser, caches: list[RollingCache], frames: int, width: int):
        self.denoiser, self.caches = denoiser, caches
        self.x = torch.zeros(1, frames, width, device="cuda")
        self.entries: dict[bool, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}

    def _entry(self, starts: bool):
        if starts not in self.entries:
            kept = [[c.k.clone(), c.v.clone(), c.end.clone()] for c in self.caches]
            for _ in range(2):
                self.denoiser(self.x, self.caches, starts)
            for cache, (k, v, end) in zip(self.caches, kept):
                cache.k.copy_(k)
                cache.v.copy_(v)
                cache.end.copy_(end)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = self.denoiser(self.x, self.caches, starts)
            self.entries[starts] = (graph, out)
        return self.entries[starts]

    @torch.no_grad()
    def __call__(self, x: torch.Tensor, starts: bool) -> torch.Tensor:
        self.x.copy_(x)
        graph, out = self._entry(starts)
        graph.replay()
        return out.clone()
