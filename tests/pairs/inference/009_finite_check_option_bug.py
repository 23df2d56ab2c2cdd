"""Symptom: the debug option of the projection is passed through as keywords, and its finite check runs
on the host inside the graph.
"""

import torch
import torch.nn as nn


def project(x: torch.Tensor, weight: torch.Tensor, *, check_errors: bool = False) -> torch.Tensor:
    y = x @ weight
    if check_errors:
        assert torch.isfinite(y).all(), "projection overflowed"  # HAZARD: host-branch-on-device
    return y


class Projection(nn.Module):
    def __init__(self, width: int, **options):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, width))
        self.options = options

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return project(x, self.weight, **self.options)


class Tower(nn.Module):
    def __init__(self, width: int, depth: int, **options):
        super().__init__()
        self.layers = nn.ModuleList(Projection(width, **options) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def graphed_tower(width: int, depth: int, batch: int):
    tower = Tower(width, depth, check_errors=True).cuda().eval()
    x = torch.zeros(batch, width, device="cuda")
    with torch.no_grad():
        for _ in range(2):
            tower(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = tower(x)

    def call(batch_x: torch.Tensor) -> torch.Tensor:
        x.copy_(batch_x)
        graph.replay()
        return y.clone()

    return call
