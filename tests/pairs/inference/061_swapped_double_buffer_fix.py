"""Fixed form: one graph is recorded for each buffer and chosen by parity."""

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
        self.graphs = [self._record(self.front), self._record(self.back)]
        self.turn = 0

    def step(self, x: torch.Tensor) -> torch.Tensor:
        (self.back if self.turn else self.front).copy_(x)
        graph, out = self.graphs[self.turn]
        graph.replay()
        self.turn = 1 - self.turn
        return out.clone()
