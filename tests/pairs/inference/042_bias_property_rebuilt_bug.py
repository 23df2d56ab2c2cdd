"""Symptom: the attention bias is a property that is built from the request's mask and cached; setting
the mask drops the cached tensor that the graph reads.
"""

import torch
import torch.nn as nn


class BiasedAttention(nn.Module):
    def __init__(self, length: int, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.mask = torch.ones(length, dtype=torch.bool, device="cuda")
        self._bias = None

    @property
    def bias(self):
        if self._bias is None:
            self._bias = torch.zeros(self.mask.shape[0], device="cuda").masked_fill_(~self.mask, -1e9)
        return self._bias

    def set_mask(self, mask: torch.Tensor) -> None:
        self.mask.copy_(mask)
        bias = torch.zeros(mask.shape[0], device="cuda")
        self._bias = bias.masked_fill_(~self.mask, -1e9)  # HAZARD: rebind-static-input

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.transpose(-1, -2) + self.bias, -1) @ v


class EncoderService:
    def __init__(self, length: int, width: int):
        self.attention = BiasedAttention(length, width).cuda()
        self.x = torch.zeros(1, length, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def warm_up(self) -> None:
        for _ in range(3):
            self.attention(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attention(self.x)

    def encode(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        self.attention.set_mask(mask)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
