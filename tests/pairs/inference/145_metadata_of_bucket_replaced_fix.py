"""Drawn from NVIDIA/TensorRT-LLM's decoder graphs (attention metadata kept per batch size).

Symptom: each bucket has metadata of its own. When the pages per sequence change, the metadata of the
bucket is built anew, while the graph of that bucket stays in the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class AttentionMetadata:
    batch: int
    pages_per_sequence: int
    lengths: torch.Tensor
    pages: torch.Tensor

    @classmethod
    def create(cls, batch: int, pages: int) -> AttentionMetadata:
        lengths = torch.ones(batch, dtype=torch.int32, device="cuda")
        table = torch.zeros(batch, pages, dtype=torch.int32, device="cuda")
        return cls(batch, pages, lengths, table)

    def prepare(self, lengths: torch.Tensor, pages: torch.Tensor) -> None:
        n, columns = pages.shape
        self.lengths[:n].copy_(lengths)
        self.lengths[n:].fill_(1)
        self.pages[:n, :columns].copy_(pages)
        self.pages[n:].zero_()


class Layer(nn.Module):
    def __init__(self, width: int, slots: int):
        super().__init__()
        self.q = nn.Linear(width, width, device="cuda")
        self.register_buffer("cache", torch.zeros(slots, width, device="cuda"))

    def forward(self, x: torch.Tensor, meta: AttentionMetadata) -> torch.Tensor:
        keys = self.cache[meta.pages.long()]
        live = torch.arange(keys.shape[1], device=x.device) < meta.lengths[:, None]
        scores = torch.einsum("bd,bkd->bk", self.q(x), keys).masked_fill(~live, -1e9)
        return x + torch.einsum("bk,bkd->bd", scores.softmax(-1), keys)


class DecodeRunner:
    def __init__(self, layer: Layer, width: int, buckets=(16, 8, 4), pages: int = 64):
        self.layer, self.buckets, self.most_pages = layer, buckets, pages
        self.x = torch.zeros(max(buckets), width, device="cuda")
        self.metadata = {b: AttentionMetadata.create(b, pages) for b in buckets}
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for bucket in self.buckets:
            meta = self.metadata[bucket]
            for _ in range(2):
                self.layer(self.x[:bucket], meta)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                y = self.layer(self.x[:bucket], self.metadata[bucket])
            self.graphs[bucket] = (graph, y)

    def _metadata(self, bucket: int, pages: int) -> AttentionMetadata:
        meta = self.metadata[bucket]
        if pages > meta.pages_per_sequence:
            raise ValueError(f"at most {meta.pages_per_sequence} pages")
        return meta

    @torch.inference_mode()
    def decode(self, x: torch.Tensor, lengths: torch.Tensor, pages: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        bucket = min(b for b in self.buckets if b >= n)
        self._metadata(bucket, pages.shape[1]).prepare(lengths, pages)
        self.x[:n].copy_(x)
        self.x[n:bucket].zero_()
        graph, y = self.graphs[bucket]
        graph.replay()
        return y[:n].clone()
