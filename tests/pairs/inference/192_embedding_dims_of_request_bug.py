"""After pooling models with matryoshka dimensions.

Symptom: requests may ask for shorter vectors. The pooler cuts to the dimension of the request inside the graph,
where the one of the capture stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class PoolingParams:
    dimensions: int = 1024
    normalise: bool = True


@dataclass
class PoolingMetadata:
    lengths: torch.Tensor
    params: PoolingParams = field(default_factory=PoolingParams)


class LastTokenPooler(nn.Module):
    def forward(self, hidden: torch.Tensor, meta: PoolingMetadata) -> torch.Tensor:
        last = hidden[torch.arange(hidden.shape[0], device=hidden.device), meta.lengths - 1]
        last = last[:, : meta.params.dimensions]  # HAZARD: frozen-scalar
        return F.normalize(last, dim=-1) if meta.params.normalise else last


class EmbeddingRunner:
    def __init__(self, model: nn.Module, batch: int, tokens: int):
        self.model, self.pooler = model, LastTokenPooler()
        self.ids = torch.zeros(batch, tokens, dtype=torch.long, device="cuda")
        self.meta = PoolingMetadata(torch.ones(batch, dtype=torch.long, device="cuda"))
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.pooler(self.model(self.ids), self.meta)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.vectors = self.pooler(self.model(self.ids), self.meta)

    @torch.inference_mode()
    def embed(self, ids: torch.Tensor, lengths: torch.Tensor, dimensions: int) -> list[list[float]]:
        self.ids.copy_(ids)
        self.meta.lengths.copy_(lengths)
        self.meta.params.dimensions = dimensions
        self.graph.replay()
        return self.vectors.tolist()
