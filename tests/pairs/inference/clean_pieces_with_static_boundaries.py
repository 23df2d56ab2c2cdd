"""Right: pieces of a model recorded one by one, with an eager attention between them.

The attention writes into a tensor that is made before the pieces are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class Piece:
    module: nn.Module
    graph: torch.cuda.CUDAGraph = field(default_factory=torch.cuda.CUDAGraph)
    out: torch.Tensor | None = None

    def record(self, x: torch.Tensor, pool) -> torch.Tensor:
        for _ in range(2):
            self.module(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=pool):
            self.out = self.module(x)
        return self.out


class EagerAttention:
    def __init__(self, tokens: int, width: int):
        self.out = torch.zeros(tokens, width, device="cuda")

    def __call__(self, q: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        for part, out in zip(q.split(lengths), self.out.split(lengths)):
            out.copy_((part @ part.t()).softmax(-1) @ part)
        return self.out


class PiecewiseModel:
    def __init__(self, before: nn.Module, after: nn.Module, tokens: int, width: int):
        self.x = torch.zeros(tokens, width, device="cuda")
        self.attention = EagerAttention(tokens, width)
        self.pieces = [Piece(before), Piece(after)]

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        first, second = self.pieces
        first.record(self.x, pool)
        second.record(self.attention.out, pool)

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        self.x.copy_(x)
        first, second = self.pieces
        first.graph.replay()
        self.attention(first.out, lengths)
        second.graph.replay()
        return second.out.clone()
