"""Symptom: the window start is computed from a host position and slices the cache in the captured
layer.
"""

import torch
import torch.nn as nn


class WindowCache(nn.Module):
    def __init__(self, limit: int, width: int, window: int):
        super().__init__()
        self.window = window
        self.register_buffer("keys", torch.zeros(limit, width))
        self.register_buffer("position", torch.zeros((), dtype=torch.long))
        self.end = window

    def advance(self, end: int) -> None:
        self.end = end  # ALT: frozen-scalar
        self.position.fill_(end)

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        keys = self.keys[self.end - self.window : self.end]  # HAZARD: frozen-scalar
        return torch.softmax(q @ keys.t(), -1) @ keys


class WindowRunner:
    def __init__(self, limit: int, width: int, window: int, batch: int):
        self.cache = WindowCache(limit, width, window).cuda()
        self.q = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.recorded = False

    @torch.no_grad()
    def _ensure(self) -> None:
        if self.recorded:
            return
        for _ in range(2):
            self.cache(self.q)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.cache(self.q)
        self.recorded = True

    def decode(self, q: torch.Tensor, position: int) -> torch.Tensor:
        self.cache.advance(position + 1)
        self.q.copy_(q)
        self._ensure()
        self.graph.replay()
        return self.y.clone()
