"""Symptom: the vision tower computes its position grid with a loop over the image sizes, which are a
device tensor.
"""

import torch
import torch.nn as nn


def grid_positions(sizes: torch.Tensor, limit: int) -> torch.Tensor:
    rows = []
    for height, width in sizes:  # ALT: sync-in-capture
        rows.append(torch.arange(int(height) * int(width), device=sizes.device))  # HAZARD: sync-in-capture
    return torch.cat(rows)[:limit]


class VisionTower(nn.Module):
    def __init__(self, limit: int, width: int):
        super().__init__()
        self.limit = limit
        self.places = nn.Embedding(limit, width)
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])

    def positions(self, sizes: torch.Tensor) -> torch.Tensor:
        return grid_positions(sizes, self.limit)

    def forward(self, patches: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        x = patches + self.places(self.positions(sizes))
        for block in self.blocks:
            x = torch.relu(block(x))
        return x


class VisionGraphs:
    def __init__(self, limit: int, width: int):
        self.tower = VisionTower(limit, width).to("cuda")
        self.patches = torch.zeros(limit, width, device="cuda")
        self.sizes = torch.zeros(limit, 2, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> "VisionGraphs":
        for _ in range(2):
            self.tower(self.patches, self.sizes)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.features = self.tower(self.patches, self.sizes)
        return self
