"""Symptom: whether the split kernel is used depends on the longest request, which is refreshed before
every step; the graph keeps the choice of the first batch.
"""

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.register_buffer("keys", torch.zeros(length, width))
        self.longest = 1

    def _whole(self, q: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ self.keys.t(), -1) @ self.keys

    def _split(self, q: torch.Tensor) -> torch.Tensor:
        parts = [torch.logsumexp(q @ k.t(), -1, keepdim=True) for k in self.keys.chunk(4)]
        return q * torch.cat(parts, -1).logsumexp(-1, keepdim=True)

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        if self.longest > 2048:  # HAZARD: frozen-scalar
            return self._split(q)
        return self._whole(q)


class Worker:
    def __init__(self, width: int, batch: int):
        self.attention = Attention(width, 8192).cuda()
        self.q = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.attention(self.q)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attention(self.q)

    def step(self, q: torch.Tensor, lens: list[int]) -> torch.Tensor:
        self.attention.longest = max(lens)  # ALT: frozen-scalar
        self.q.copy_(q)
        self.graph.replay()
        return self.y.clone()
