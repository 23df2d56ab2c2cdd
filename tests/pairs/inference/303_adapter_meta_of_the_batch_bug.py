"""Source: huggingface/text-generation-inference#2180, predibase/lorax#634

Symptom: adapter data is handed to the model at capture; at replay the batch's adapter data is
stored on the context object but the recorded kernels go on reading the indices of the capture.
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
        self.state.adapters = adapters  # HAZARD: rebind-static-input
        self.graph.replay()
        return self.logits.clone()
