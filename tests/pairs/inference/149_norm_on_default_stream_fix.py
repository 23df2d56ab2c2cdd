"""Drawn from kernels that were written for eager serving and switch streams themselves.

Symptom: the fused norm always launches on the default stream to be ordered with its initialization; in
a capture, work on the default stream is forbidden or escapes the graph.
"""

import torch
import torch.nn as nn


class FusedNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, device="cuda"))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.cuda.stream(torch.cuda.current_stream()):
            scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
            y = x * scale * self.weight
        return y


class Step:
    def __init__(self, width: int, batch: int):
        self.norm = FusedNorm(width)
        self.proj = nn.Linear(width, width, device="cuda")
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.proj(self.norm(self.x))
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.proj(self.norm(self.x))

    @torch.inference_mode()
    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
