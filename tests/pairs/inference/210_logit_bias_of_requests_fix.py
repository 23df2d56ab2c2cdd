"""After logit bias that clients send as a dict of tokens and numbers.

Fixed form: the bias is a row on the device that is written before the replay.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class BiasTable:
    def __init__(self, vocab: int) -> None:
        self.row = torch.zeros(1, vocab, device="cuda")

    def replace(self, bias: dict[int, float]) -> None:
        self.row.zero_()
        for token, value in bias.items():
            self.row[:, token] = value


class BiasedHead(nn.Module):
    def __init__(self, width: int, vocab: int, table: BiasTable):
        super().__init__()
        self.out = nn.Linear(width, vocab, device="cuda")
        self.table = table

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = self.out(hidden)
        return (logits + self.table.row).argmax(-1)


class HeadGraph:
    def __init__(self, head: BiasedHead, batch: int, width: int):
        self.head = head
        self.hidden = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.head(self.hidden)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.head(self.hidden)

    def next_tokens(self, hidden: torch.Tensor, bias: dict[int, float]) -> list[int]:
        self.head.table.replace(bias)
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.tokens.tolist()
