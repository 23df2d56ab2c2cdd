"""Drawn from encoder servers that return several outputs (vllm's pooling runners).

Symptom: the result record is copied with replace(), but only the field that the first user needed is
cloned; the caller compares the pooled vectors of two texts and always finds them equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Encoded:
    tokens: torch.Tensor
    pooled: torch.Tensor


class Encoder(nn.Module):
    def __init__(self, vocabulary: int, width: int):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.mix = nn.Linear(width, width)

    def forward(self, ids: torch.Tensor) -> Encoded:
        tokens = torch.tanh(self.mix(self.embed(ids)))
        return Encoded(tokens, tokens.mean(0))


class EncodeGraph:
    def __init__(self, model: Encoder, length: int):
        self.model = model
        self.ids = torch.zeros(length, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.model(self.ids)

    @torch.inference_mode()
    def __call__(self, ids: torch.Tensor) -> Encoded:
        self.ids.copy_(ids)
        self.graph.replay()
        return Encoded(self.out.tokens.clone(), self.out.pooled.clone())


def similarity(model: Encoder, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    encode = EncodeGraph(model, left.shape[0])
    encode.capture()
    a = encode(left)
    b = encode(right)
    return torch.dot(a.pooled, b.pooled)
