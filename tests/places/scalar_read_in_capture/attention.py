"""Attention layers that ask the device how long the sequences are."""

import torch
from torch import nn


def window(lengths: torch.Tensor, block: int) -> int:
    return int(lengths.max()) // block  # expect: CG302


class Attention(nn.Module):
    def __init__(self, width: int, block: int):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.block = block
        self.max_length = 4096

    def forward(self, x, lengths):
        blocks = window(lengths, self.block)
        longest = min(self.max_length, x.shape[0])  # ok: CG302
        scores = self.project(x)[:longest]
        return scores.narrow(0, 0, int(x.size(0)) // 2) * blocks  # ok: CG302


class Router(nn.Module):
    def __init__(self, width: int, experts: int):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.load = torch.zeros(experts, device="cuda")
        self.capacity = torch.tensor(64)

    def forward(self, x):
        weights, chosen = torch.topk(self.gate(x), 2)
        self.load.add_(weights.sum(0)[0])
        busiest = self.load.argmax().item()  # expect: CG302
        self.limit = self.capacity.item()  # ok: CG302
        return weights, chosen, busiest
