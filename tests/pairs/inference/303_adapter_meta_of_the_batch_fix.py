"""Source: huggingface/text-generation-inference#2180, predibase/lorax#634

Fixed form: the indices of the batch are copied into the recorded adapter batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class AdapterBatch:
    indices: torch.Tensor
    ranks: torch.Tensor


@dataclass
class DecodeState:
    ids: torch.Tensor
    adapters: AdapterBatch

    @classmethod
    def empty(cls, batch: int) -> DecodeState:
        zeros = torch.zeros(batch, dtype=torch.long, device="cuda")
        return cls(ids=zeros, adapters=AdapterBatch(zeros.clone(), zeros.clone()))


class LoraHead(nn.Module):
    def __init__(self, width: int, vocab: int, slots: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.head = nn.Linear(width, vocab)
        self.register_buffer("deltas", torch.zeros(slots, width))

    def forward(self, state: DecodeState) -> torch.Tensor:
        h = self.embed(state.ids)
        return self.head(h + self.deltas[state.adapters.indices])


class GraphedDecoder:
    def __init__(self, model: LoraHead, batch: int):
        self.model = model.cuda().eval()
        self.state = DecodeState.empty(batch)
        self.graph: torch.cuda.CUDAGraph | None = None

    @torch.inference_mode()
    def warmup(self) -> None:
        for _ in range(2):
            self.model(self.state)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = self.model(self.state)

    def decode(self, ids: torch.Tensor, adapters: AdapterBatch) -> torch.Tensor:
        self.state.ids.copy_(ids)
        self.state.adapters.indices.copy_(adapters.indices)
        self.state.adapters.ranks.copy_(adapters.ranks)
        self.graph.replay()
        return self.logits.clone()
