from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass
class Request:
    request_id: str
    tokens: list[int]
    blocks: list[int] = field(default_factory=list)
    max_tokens: int = 64
    last_hidden: torch.Tensor | None = None

    @property
    def finished(self) -> bool:
        return len(self.tokens) >= self.max_tokens


@dataclass
class Batch:
    requests: list[Request]
    input_ids: torch.Tensor
    positions: torch.Tensor
    seq_lens: torch.Tensor
    block_table: torch.Tensor
    slots: torch.Tensor

    def __len__(self) -> int:
        return len(self.requests)


def make_batch(requests: list[Request], block_size: int, width: int) -> Batch:
    def pinned(values, dtype):
        return torch.tensor(values, dtype=dtype).pin_memory()

    lengths = [len(each.tokens) for each in requests]
    tables = [each.blocks + [0] * (width - len(each.blocks)) for each in requests]
    last = [(each.blocks[(n - 1) // block_size], (n - 1) % block_size) for each, n in zip(requests, lengths)]
    return Batch(
        requests=requests,
        input_ids=pinned([each.tokens[-1] for each in requests], torch.int64),
        positions=pinned([n - 1 for n in lengths], torch.int64),
        seq_lens=pinned(lengths, torch.int32),
        block_table=pinned(tables, torch.int32),
        slots=pinned([block * block_size + offset for block, offset in last], torch.int64),
    )
