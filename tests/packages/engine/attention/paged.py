from __future__ import annotations

import torch
import torch.nn.functional as F

from ..config import EngineConfig
from ..requests import Batch
from .abstract import AttentionBackend, AttentionImpl, AttentionMetadata, MetadataBuilder, register_backend


class PagedMetadataBuilder(MetadataBuilder):
    """Keeps the tensors that captured kernels read and fills them for every step."""

    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        super().__init__(config, device)
        rows, width = config.max_batch, config.cache.max_blocks_per_request
        self.seq_lens = torch.ones(rows, dtype=torch.int32, device=device)
        self.block_table = torch.zeros(rows, width, dtype=torch.int32, device=device)
        self.slot_mapping = torch.zeros(rows, dtype=torch.int64, device=device)

    def build_for_capture(self, size: int) -> AttentionMetadata:
        self.seq_lens.fill_(1)
        self.slot_mapping.zero_()
        return self._views(size)

    def build(self, batch: Batch, size: int) -> AttentionMetadata:
        n = len(batch)
        self.seq_lens[:n].copy_(batch.seq_lens, non_blocking=True)
        self.seq_lens[n:].fill_(1)
        self.block_table[:n].copy_(batch.block_table, non_blocking=True)
        self.block_table[n:].zero_()
        self.slot_mapping[:n].copy_(batch.slots, non_blocking=True)
        self.slot_mapping[n:].zero_()
        return self._views(size)

    def _views(self, size: int) -> AttentionMetadata:
        return AttentionMetadata(
            num_reqs=size,
            seq_lens=self.seq_lens[:size],
            block_table=self.block_table[:size],
            slot_mapping=self.slot_mapping[:size],
        )


class PagedImpl(AttentionImpl):
    def __init__(self, num_heads: int, head_dim: int) -> None:
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.scale = head_dim**-0.5

    def write_cache(self, key, value, cache, meta):
        cache[0].index_copy_(0, meta.slot_mapping, key)
        cache[1].index_copy_(0, meta.slot_mapping, value)

    def forward(self, query, cache, meta):
        keys, values = cache[0][meta.block_table], cache[1][meta.block_table]
        positions = torch.arange(keys.shape[1], device=query.device)
        mask = positions[None, :] < meta.seq_lens[:, None]
        bias = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, float("-inf"))
        scores = torch.einsum("bhd,bshd->bhs", query, keys) * self.scale + bias[:, None, :]
        return torch.einsum("bhs,bshd->bhd", F.softmax(scores, dim=-1), values)


@register_backend("paged")
class PagedBackend(AttentionBackend):
    @staticmethod
    def get_builder_cls():
        return PagedMetadataBuilder

    @staticmethod
    def get_impl_cls():
        return PagedImpl
