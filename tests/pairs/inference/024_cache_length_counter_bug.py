"""Symptom: the cache counts its tokens in a Python integer and writes at that offset; the recorded
offset never moves on.
"""

import torch
import torch.nn as nn


class StaticCache:
    def __init__(self, batch: int, limit: int, width: int):
        self.keys = torch.zeros(batch, limit, width, device="cuda")
        self.seen = 0

    def append(self, k: torch.Tensor) -> torch.Tensor:
        self.keys[:, self.seen : self.seen + 1].copy_(k.unsqueeze(1))  # HAZARD: frozen-scalar
        self.seen += 1  # ALT: side-effect
        return self.keys


class CachedLayer(nn.Module):
    def __init__(self, width: int, cache: StaticCache):
        super().__init__()
        self.k = nn.Linear(width, width)
        self.cache = cache

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = self.cache.append(self.k(x))
        return torch.softmax((keys @ x.unsqueeze(-1)).squeeze(-1), -1).unsqueeze(1).matmul(keys).squeeze(1)


class Generator:
    def __init__(self, width: int, batch: int, limit: int):
        self.cache = StaticCache(batch, limit, width)
        self.layer = CachedLayer(width, self.cache).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def generate(self, x: torch.Tensor, steps: int) -> torch.Tensor:
        self.x.copy_(x)
        for _ in range(steps):
            self.graph.replay()
            self.x.copy_(self.y)
        return self.x.clone()
