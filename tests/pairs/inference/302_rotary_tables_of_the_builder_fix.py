"""Source: huggingface/transformers#31985 (comment), sgl-project/sglang#18820

Fixed form: the recording owns the tables that its kernels read.
"""

from typing import NamedTuple

import torch
import torch.nn as nn


class Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    pixels: torch.Tensor
    tables: tuple[torch.Tensor, torch.Tensor]
    features: torch.Tensor


def rotary_tables(grid: tuple[int, int], dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    rows = torch.arange(grid[0], device="cuda").repeat_interleave(grid[1])
    freqs = rows[:, None] / 10000.0 ** (torch.arange(0, dim, 2, device="cuda") / dim)
    return freqs.cos(), freqs.sin()


class VisionTower(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.embed = nn.Linear(width, width)

    def forward(self, pixels: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        even, odd = self.embed(pixels).chunk(2, dim=-1)
        return torch.cat([even * cos - odd * sin, odd * cos + even * sin], dim=-1)


class TowerGraphs:
    def __init__(self, tower: VisionTower, width: int):
        self.tower, self.width = tower.cuda().eval(), width
        self.recordings: dict[tuple[int, int], Recording] = {}

    @torch.inference_mode()
    def _record(self, grid: tuple[int, int]) -> Recording:
        pixels = torch.zeros(grid[0] * grid[1], self.width, device="cuda")
        cos, sin = rotary_tables(grid, self.width)
        for _ in range(2):
            self.tower(pixels, cos, sin)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            features = self.tower(pixels, cos, sin)
        return Recording(graph, pixels, (cos, sin), features)

    def __call__(self, pixels: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
        recording = self.recordings.get(grid)
        if recording is None:
            recording = self.recordings[grid] = self._record(grid)
        recording.pixels.copy_(pixels)
        recording.graph.replay()
        return recording.features.clone()
