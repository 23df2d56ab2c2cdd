"""Drawn from trainers that record a step for each bucket of lengths and run out of memory.

Fixed: all captures use one pool.
"""

from __future__ import annotations

import torch
from torch import nn


class Recorded:
    __slots__ = ("graph", "loss", "tokens")

    def __init__(self, tokens: torch.Tensor) -> None:
        self.tokens = tokens
        self.graph = torch.cuda.CUDAGraph()
        self.loss = None


class BucketedEvaluator:
    """Scores held-out sequences; they are padded to the next of a few lengths."""

    def __init__(self, model: nn.Module, lengths: tuple[int, ...], batch: int, pad: int = 0) -> None:
        self.model = model.eval()
        self.lengths = sorted(lengths)
        self.batch, self.pad = batch, pad
        self.stream = torch.cuda.Stream()
        self.pool = torch.cuda.graph_pool_handle()
        self.recorded: dict[int, Recorded] = {}

    def _score(self, tokens: torch.Tensor) -> torch.Tensor:
        logits = self.model(tokens[:, :-1])
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=self.pad
        )

    @torch.no_grad()
    def record_all(self) -> None:
        for length in reversed(self.lengths):
            entry = Recorded(torch.zeros(self.batch, length, dtype=torch.long, device="cuda"))
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                for _ in range(2):
                    self._score(entry.tokens)
            torch.cuda.current_stream().wait_stream(self.stream)
            with torch.cuda.graph(entry.graph, pool=self.pool, stream=self.stream):
                entry.loss = self._score(entry.tokens)
            self.recorded[length] = entry

    @torch.no_grad()
    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        length = next(n for n in self.lengths if n >= tokens.shape[1])
        entry = self.recorded[length]
        entry.tokens.fill_(self.pad)
        entry.tokens[:, : tokens.shape[1]].copy_(tokens)
        entry.graph.replay()
        return entry.loss.clone()


def validate(model: nn.Module, loader, batch: int = 16) -> float:
    scorer = BucketedEvaluator(model.cuda(), tuple(range(64, 832, 64)), batch)
    scorer.record_all()
    losses = [scorer(tokens.cuda()) for tokens in loader]
    return torch.stack(losses).mean().item()
