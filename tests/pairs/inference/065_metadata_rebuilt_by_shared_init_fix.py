"""Fixed form: tensors are made on the first call for a batch size and copied into afterwards."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class ForwardMetadata:
    seq_lens: torch.Tensor
    cu_seqlens: torch.Tensor
    page_table: torch.Tensor


class AttentionBackend(ABC):
    @abstractmethod
    def init_metadata(self, bs: int, pages: torch.Tensor, lens: torch.Tensor) -> None: ...


class PagedBackend(AttentionBackend):
    def __init__(self, max_batch: int, max_pages: int):
        self.page_buffer = torch.zeros(max_batch, max_pages, dtype=torch.long, device="cuda")
        self.by_batch: dict[int, ForwardMetadata] = {}
        self.current: ForwardMetadata | None = None

    def init_metadata(self, bs: int, pages: torch.Tensor, lens: torch.Tensor) -> None:
        self.page_buffer[:bs].copy_(pages[:bs])
        seq_lens = lens[:bs].to(torch.int32)
        cu_seqlens = F.pad(torch.cumsum(seq_lens, 0), (1, 0))
        if bs not in self.by_batch:
            self.by_batch[bs] = ForwardMetadata(seq_lens, cu_seqlens, self.page_buffer[:bs])
        else:
            self.by_batch[bs].seq_lens.copy_(seq_lens)
            self.by_batch[bs].cu_seqlens.copy_(cu_seqlens)
        self.current = self.by_batch[bs]


class PagedAttention(nn.Module):
    def __init__(self, width: int, pages: int, backend: PagedBackend):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.register_buffer("kv", torch.zeros(pages, width))
        self.backend = backend

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        meta = self.backend.current
        keys = self.kv[meta.page_table]
        live = torch.arange(keys.shape[1], device=x.device)[None] < meta.seq_lens[:, None]
        scores = torch.einsum("bd,bkd->bk", self.q(x), keys).masked_fill(~live, -1e9)
        return torch.einsum("bk,bkd->bd", scores.softmax(-1), keys) * meta.cu_seqlens[1:, None].clamp(max=1)


class DecodeGraphs:
    def __init__(self, attn: PagedAttention, backend: PagedBackend, sizes: list[int], width: int):
        self.attn, self.backend = attn.cuda(), backend
        self.sizes = sorted(sizes, reverse=True)
        self.x = torch.zeros(self.sizes[0], width, device="cuda")
        self.graphs, self.outs = {}, {}
        self.pool = torch.cuda.graph_pool_handle()

    @torch.inference_mode()
    def capture(self) -> None:
        for bs in self.sizes:
            lens = torch.ones(bs, dtype=torch.int32, device="cuda")
            self.backend.init_metadata(bs, self.backend.page_buffer.clone(), lens)
            for _ in range(2):
                self.attn(self.x[:bs])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                self.outs[bs] = self.attn(self.x[:bs])
            self.graphs[bs] = graph

    def replay(self, x: torch.Tensor, pages: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        bs = x.shape[0]
        self.backend.init_metadata(bs, pages, lens)
        self.x[:bs].copy_(x)
        self.graphs[bs].replay()
        return self.outs[bs].clone()
