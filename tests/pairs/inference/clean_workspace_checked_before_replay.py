"""Right: a workspace that must grow is given up together with the graphs that read it."""

from __future__ import annotations

import torch
import torch.nn as nn


class Workspace:
    def __init__(self, rows: int, width: int):
        self.width = width
        self.buffer = torch.empty(rows, width, device="cuda")

    def fits(self, rows: int) -> bool:
        return rows <= self.buffer.shape[0]

    def grow(self, rows: int) -> None:
        self.buffer = torch.empty(rows, self.width, device="cuda")


class Layer(nn.Module):
    def __init__(self, width: int, workspace: Workspace):
        super().__init__()
        self.lin = nn.Linear(width, width, device="cuda")
        self.workspace = workspace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        part = self.workspace.buffer[: x.shape[0]]
        torch.tanh(x, out=part)
        return self.lin(part)


class Runner:
    def __init__(self, layer: Layer, width: int):
        self.layer, self.width = layer, width
        self.entries: dict[int, tuple] = {}

    def _record(self, rows: int) -> tuple:
        x = torch.zeros(rows, self.width, device="cuda")
        for _ in range(2):
            self.layer(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.layer(x)
        return graph, x, y

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.shape[0]
        workspace = self.layer.workspace
        if not workspace.fits(rows):
            self.entries.clear()
            workspace.grow(rows)
        if rows not in self.entries:
            self.entries[rows] = self._record(rows)
        graph, static, y = self.entries[rows]
        static.copy_(x)
        graph.replay()
        return y.clone()
