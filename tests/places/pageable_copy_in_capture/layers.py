"""Layers that bring constants from the host."""

import torch
from torch import nn


def scale_of(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(8.0, device=x.device)  # expect: CG306


class Embedder(nn.Module):
    def __init__(self, vocabulary: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocabulary, width))
        self.offsets = torch.arange(4)
        self.staging = torch.zeros(width, pin_memory=True)
        self.register_buffer("bias", torch.zeros(width))

    def forward(self, tokens):
        embedded = self.table[tokens] * scale_of(tokens)
        special = self.table[[0, 1, 2]]  # expect: CG306
        shifted = tokens + self.offsets.to(tokens.device)[0]  # expect: CG306
        bias = self.bias + self.staging.to("cuda", non_blocking=True)  # ok: CG306
        ones = torch.full_like(embedded, 1.0)  # ok: CG306
        return embedded + bias + ones, special, shifted


class Penalty(nn.Module):
    def __init__(self, words: list[int]):
        super().__init__()
        self.words = words
        self.register_buffer("forbidden", torch.tensor(words))

    def forward(self, logits):
        logits[:, self.forbidden] = -1e9  # expect: CG306
        logits.index_fill_(1, self.forbidden, -1e9)  # ok: CG306
        return logits
