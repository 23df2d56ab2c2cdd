"""Symptom: the vision attention needs the longest window as a Python number and computes it from the
cumulative lengths in a property that every captured layer reads.
"""

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn as nn


@dataclass
class WindowInfo:
    bounds: torch.Tensor

    @property
    def lengths(self) -> torch.Tensor:
        return self.bounds[1:] - self.bounds[:-1]

    @property
    def longest(self) -> int:
        return int(self.lengths.max())  # HAZARD: sync-in-capture


def windowed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, info: WindowInfo, scale: float
) -> torch.Tensor:
    index = torch.arange(q.shape[0], device=q.device)
    window = torch.searchsorted(info.bounds, index, right=True)
    near = (index[:, None] - index[None]).abs() < info.longest
    scores = (q @ k.t()) * scale
    allowed = near & (window[:, None] == window[None])
    return scores.masked_fill(~allowed, -1e9).softmax(-1) @ v


class VisionLayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.attend = partial(windowed, scale=width**-0.5)

    def forward(self, x: torch.Tensor, info: WindowInfo) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return x + self.attend(q, k, v, info)


class VisionTower(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList([VisionLayer(width) for _ in range(depth)])

    def forward(self, patches: torch.Tensor, info: WindowInfo) -> torch.Tensor:
        for layer in self.layers:
            patches = layer(patches, info)
        return patches


class BudgetGraphs:
    def __init__(self, tower: VisionTower, width: int, budgets: list[int], max_windows: int):
        self.tower = tower
        self.entries: dict[int, tuple] = {}
        self.pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            for budget in sorted(budgets, reverse=True):
                patches = torch.zeros(budget, width, device="cuda")
                bounds = torch.full((max_windows + 1,), budget, dtype=torch.long, device="cuda")
                self.entries[budget] = (patches, bounds, *self._capture(patches, WindowInfo(bounds)))

    def _capture(self, patches: torch.Tensor, info: WindowInfo):
        for _ in range(2):
            self.tower(patches, info)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.tower(patches, info)
        return graph, out

    def encode(self, patches: torch.Tensor, bounds: torch.Tensor) -> torch.Tensor:
        n = patches.shape[0]
        budget = min(b for b in self.entries if b >= n)
        static, static_bounds, graph, out = self.entries[budget]
        static.zero_()
        static[:n].copy_(patches)
        static_bounds.fill_(budget)
        static_bounds[: bounds.shape[0]].copy_(bounds)
        graph.replay()
        return out[:n].clone()
