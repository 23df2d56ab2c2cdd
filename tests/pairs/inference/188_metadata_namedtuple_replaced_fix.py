"""The batch is copied into the tensors of the one record."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn as nn


class PagedMetadata(NamedTuple):
    lengths: torch.Tensor
    pages: torch.Tensor


class PagedAttention(nn.Module):
    def __init__(self, width: int, pages: int):
        super().__init__()
        self.q = nn.Linear(width, width, device="cuda")
        self.kv = torch.zeros(pages, 16, width, device="cuda")
        self.metadata: PagedMetadata | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        lengths, pages = self.metadata
        keys = self.kv[pages].flatten(1, 2)
        live = torch.arange(keys.shape[1], device=x.device) < lengths[:, None]
        scores = torch.einsum("bw,bkw->bk", self.q(x), keys).masked_fill(~live, float("-inf"))
        return torch.einsum("bk,bkw->bw", scores.softmax(-1), keys)


class PagedRunner:
    def __init__(self, attention: PagedAttention, batch: int, width: int, most: int):
        self.attention, self.batch = attention, batch
        self.x = torch.zeros(batch, width, device="cuda")
        self.buffers = PagedMetadata(
            torch.ones(batch, dtype=torch.int32, device="cuda"),
            torch.zeros(batch, most, dtype=torch.long, device="cuda"),
        )
        self.graph = torch.cuda.CUDAGraph()

    def prepare(self, lengths: torch.Tensor, pages: torch.Tensor) -> None:
        for held, new in zip(self.buffers, (lengths, pages)):
            held.copy_(new)

    @torch.inference_mode()
    def capture(self) -> None:
        self.attention.metadata = self.buffers
        for _ in range(2):
            self.attention(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attention(self.x)

    @torch.inference_mode()
    def decode(self, x: torch.Tensor, lengths: torch.Tensor, pages: torch.Tensor) -> torch.Tensor:
        self.prepare(lengths, pages)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
