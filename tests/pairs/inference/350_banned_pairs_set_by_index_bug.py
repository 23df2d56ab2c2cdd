"""Source: huggingface/transformers#34245 (static sampling), NVIDIA/TensorRT-LLM#8710 (bad words)

Symptom: the penalty writes a Python number at row and column index tensors; the number becomes a host
tensor that is copied to the device, which a capture refuses.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(slots=True)
class BanList:
    rows: torch.Tensor
    columns: torch.Tensor

    @classmethod
    def padded(cls, size: int) -> BanList:
        zeros = torch.zeros(size, dtype=torch.long, device="cuda")
        return cls(zeros, zeros.clone())

    def update(self, pairs: list[tuple[int, int]]) -> None:
        rows, columns = torch.tensor(pairs).t()
        self.rows.zero_()
        self.columns.zero_()
        self.rows[: len(pairs)].copy_(rows)
        self.columns[: len(pairs)].copy_(columns)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        logits[self.rows, self.columns] = float("-inf")  # HAZARD: sync-in-capture
        return logits


class Sampler(nn.Module):
    def __init__(self, head: nn.Linear, bans: BanList):
        super().__init__()
        self.head, self.bans = head, bans

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.bans.apply(self.head(hidden)).argmax(dim=-1)


def make_sampler(head: nn.Linear, batch: int, width: int):
    bans = BanList.padded(64)
    sampler = Sampler(head.cuda(), bans)
    hidden = torch.zeros(batch, width, device="cuda")
    with torch.inference_mode():
        for _ in range(2):
            sampler(hidden)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tokens = sampler(hidden)

    def sample(new_hidden: torch.Tensor, pairs: list[tuple[int, int]]) -> torch.Tensor:
        bans.update(pairs)
        hidden.copy_(new_hidden)
        graph.replay()
        return tokens.clone()

    return sample
