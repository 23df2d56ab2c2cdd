"""After a speech model whose timestamps must come in pairs.

Fixed form: the rule is a mask over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Vocabulary:
    size: int
    first_timestamp: int
    end: int


class TimestampRules:
    def __init__(self, vocabulary: Vocabulary):
        self.v = vocabulary

    def __call__(self, logits: torch.Tensor, history: torch.Tensor) -> torch.Tensor:
        for row, tokens in zip(logits, history):
            last, before = tokens[-1], tokens[-2]
            if last >= self.v.first_timestamp:
                if before >= self.v.first_timestamp:
                    row[self.v.first_timestamp :] = float("-inf")
                else:
                    row[: self.v.end] = float("-inf")
        return logits


class MaskedRules(TimestampRules):
    def __call__(self, logits: torch.Tensor, history: torch.Tensor) -> torch.Tensor:
        stamp = history[:, -2:] >= self.v.first_timestamp
        ids = torch.arange(self.v.size, device=logits.device)
        texts, stamps = ids < self.v.end, ids >= self.v.first_timestamp
        closed = stamp[:, 1:] & stamp[:, :1]
        opened = stamp[:, 1:] & ~stamp[:, :1]
        return logits.masked_fill(closed & stamps | opened & texts, float("-inf"))


class DecodingTask:
    rules_class = MaskedRules

    def __init__(self, decoder: nn.Module, vocabulary: Vocabulary, beams: int, length: int):
        self.decoder = decoder
        self.rules = [self.rules_class(vocabulary)]
        self.history = torch.zeros(beams, length, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        logits = self.decoder(self.history)[:, -1]
        for rule in self.rules:
            logits = rule(logits, self.history)
        return logits.log_softmax(-1)

    @torch.no_grad()
    def prepare(self) -> None:
        for _ in range(3):
            self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.log_probs = self._step()

    def step(self, history: torch.Tensor) -> torch.Tensor:
        self.history.copy_(history)
        self.graph.replay()
        return self.log_probs.clone()
