"""Symptom: per-request values are expanded to tokens with repeat_interleave, whose output length
depends on the counts on the device.
"""

import torch
import torch.nn as nn


class TokenExpander:
    def __init__(self, tokens: int):
        self.tokens = tokens

    def __call__(self, per_request: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        return torch.repeat_interleave(per_request, counts, dim=0)  # HAZARD: implicit-sync


class Conditioned(nn.Module):
    def __init__(self, width: int, expand):
        super().__init__()
        self.expand = expand
        self.style = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, style: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        return self.out(x + self.expand(self.style(style), counts))


class StyleGraph:
    def __init__(self, width: int, tokens: int, requests: int):
        self.net = Conditioned(width, TokenExpander(tokens)).cuda()
        self.args = [
            torch.zeros(tokens, width, device="cuda"),
            torch.zeros(requests, width, device="cuda"),
            torch.full((requests,), tokens // requests, device="cuda"),
        ]
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.net(*self.args)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.net(*self.args)

    def __call__(self, *args: torch.Tensor) -> torch.Tensor:
        for mine, new in zip(self.args, args, strict=True):
            mine.copy_(new)
        self.graph.replay()
        return self.y.clone()
