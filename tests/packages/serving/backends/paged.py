from __future__ import annotations

from dataclasses import dataclass

import torch

from ..config import EngineConfig
from .abstract import AttentionBackend, CommonMetadata, MetadataBuilder


@dataclass
class PagedMetadata:
    num_tokens: int
    seq_lens: torch.Tensor
    block_table: torch.Tensor
    slot_mapping: torch.Tensor
    scale_rows: torch.Tensor


class PagedBuilder(MetadataBuilder[PagedMetadata]):
    def __init__(self, config: EngineConfig, device: torch.device) -> None:
        super().__init__(config, device)
        self.scale_rows = torch.ones(config.scheduler.max_num_seqs, device=device)

    def build(self, common: CommonMetadata) -> PagedMetadata:
        n = common.num_tokens
        torch.clamp(common.seq_lens[:n], min=1, out=self.scale_rows[:n])
        return PagedMetadata(
            num_tokens=n,
            seq_lens=common.seq_lens[:n],
            block_table=common.block_table[:n],
            slot_mapping=common.slot_mapping[:n],
            scale_rows=self.scale_rows[:n],
        )


class PagedImpl:
    def __init__(self, num_heads: int, head_size: int, scale: float) -> None:
        self.num_heads = num_heads
        self.head_size = head_size
        self.scale = scale

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        metadata: PagedMetadata,
        output: torch.Tensor,
    ) -> torch.Tensor:
        n = metadata.num_tokens
        shape = (n, self.num_heads, self.head_size)
        keys, values = kv_cache.flatten(1, 2).unbind(0)
        keys.index_copy_(0, metadata.slot_mapping, key.view(shape))
        values.index_copy_(0, metadata.slot_mapping, value.view(shape))
        block_size = kv_cache.shape[2]
        offsets = torch.arange(block_size, device=query.device)
        slots = (metadata.block_table[:, :, None] * block_size + offsets).flatten(1)
        positions = torch.arange(slots.shape[1], device=query.device)
        mask = positions[None, :] < metadata.seq_lens[:, None]
        scores = torch.einsum("nhd,nshd->nhs", query.view(shape), keys[slots]) * self.scale
        scores = scores.masked_fill(~mask[:, None, :], float("-inf"))
        mixed = torch.einsum("nhs,nshd->nhd", scores.softmax(dim=-1), values[slots])
        output.copy_(mixed.reshape(n, -1))
        return output


class PagedBackend(AttentionBackend):
    @staticmethod
    def get_impl_cls() -> type[PagedImpl]:
        return PagedImpl

    @staticmethod
    def get_builder_cls() -> type[PagedBuilder]:
        return PagedBuilder
