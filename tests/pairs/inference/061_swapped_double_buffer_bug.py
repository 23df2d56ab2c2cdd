"""Symptom: the runner keeps two input buffers and swaps their names after each step; the graph reads
the one that had the name at capture.
"""

import torch
import torch.nn as nn


class DoubleBuffered:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.model = model
        self.front = torch.zeros(batch, width, device="cuda")
        self.back = torch.zeros(batch, width, device="cuda")
        self.graphs = []

    def _record(self, x: torch.Tensor):
        for _ in range(2):
            self.model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model(x)
        return graph, y

    @torch.inference_mode()
    def capture(self) -> None:
        self.graph = torch.cuda.CUDAGraph()
        for _ in range(2):
            self.model(self.front)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.model(self.front)

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.front.copy_(x)
        self.graph.replay()
        self.front, self.back = self.back, self.front  # HAZARD: rebind-static-input
        return self.out.clone()
