"""After a serving engine that records every batch size twice, with and without adapters.

Fixed form: the metadata is kept by batch size and variant, as the graphs are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class DecodeMetadata:
    page_table: torch.Tensor
    lengths: torch.Tensor


class PagedBackend:
    def __init__(self, pages: int, width: int, most_pages: int):
        self.keys = torch.zeros(pages, width, device="cuda")
        self.most_pages = most_pages
        self.decode_metadata: dict[tuple[int, bool], DecodeMetadata] = {}
        self.current: DecodeMetadata | None = None

    def init_capture(self, bs: int, with_adapter: bool) -> None:
        metadata = DecodeMetadata(
            page_table=torch.zeros(bs, self.most_pages, dtype=torch.long, device="cuda"),
            lengths=torch.ones(bs, dtype=torch.int32, device="cuda"),
        )
        self.decode_metadata[bs, with_adapter] = metadata
        self.current = metadata

    def init_replay(self, key: tuple[int, bool], page_table: torch.Tensor, lengths: torch.Tensor) -> None:
        metadata = self.decode_metadata[key]
        metadata.page_table.copy_(page_table)
        metadata.lengths.copy_(lengths)

    def attend(self, q: torch.Tensor) -> torch.Tensor:
        rows = self.keys[self.current.page_table]
        live = torch.arange(self.most_pages, device=q.device)[None] < self.current.lengths[:, None]
        scores = torch.einsum("bd,bpd->bp", q, rows).masked_fill(~live, float("-inf"))
        return torch.einsum("bp,bpd->bd", scores.softmax(-1), rows)


class DualRunner:
    def __init__(self, proj: nn.Module, adapter: nn.Module, backend: PagedBackend, width: int):
        self.proj, self.adapter, self.backend = proj, adapter, backend
        self.sizes = (8, 4, 2, 1)
        self.x = torch.zeros(self.sizes[0], width, device="cuda")
        self.graphs: dict[tuple[int, bool], torch.cuda.CUDAGraph] = {}
        self.outs: dict[tuple[int, bool], torch.Tensor] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def _forward(self, bs: int, with_adapter: bool) -> torch.Tensor:
        h = self.proj(self.x[:bs])
        if with_adapter:
            h = h + self.adapter(self.x[:bs])
        return self.backend.attend(h)

    @torch.inference_mode()
    def capture(self) -> None:
        for bs in self.sizes:
            for with_adapter in (False, True):
                self.backend.init_capture(bs, with_adapter)
                for _ in range(2):
                    self._forward(bs, with_adapter)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=self.pool):
                    self.outs[bs, with_adapter] = self._forward(bs, with_adapter)
                self.graphs[bs, with_adapter] = graph

    def replay(self, x, page_table, lengths, adapter_ids: list[int]) -> torch.Tensor:
        n = x.shape[0]
        bs = min(s for s in self.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:bs].zero_()
        key = (bs, any(adapter_ids))
        self.backend.init_replay(key, page_table, lengths)
        self.graphs[key].replay()
        return self.outs[key][:n].clone()
