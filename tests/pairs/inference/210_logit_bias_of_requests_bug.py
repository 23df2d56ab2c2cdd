"""After logit bias that clients send as a dict of tokens and numbers.

Symptom: the captured step walks over the dict of the batch that was there at the capture.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class BiasTable:
    def __init__(self) -> None:
        self.by_token: dict[int, float] = {}

    def replace(self, bias: dict[int, float]) -> None:
        self.by_token = dict(bias)  # HAZARD: frozen-scalar, side-effect


class BiasedHead(nn.Module):
    def __init__(self, width: int, vocab: int, table: BiasTable):
        super().__init__()
        self.out = nn.Linear(width, vocab, device="cuda")
        self.table = table

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = self.out(hidden)
        for token, value in self.table.by_token.items():  # HAZARD: frozen-scalar, side-effect
            logits[:, token] += value  # HAZARD: frozen-scalar, side-effect
        return logits.argmax(-1)


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
