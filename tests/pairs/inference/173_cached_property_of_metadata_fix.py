"""The value is asked for, and with that kept, before the capture begins."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class HybridMetadata:
    lengths: torch.Tensor
    has_state: torch.Tensor

    @functools.cached_property
    def any_state(self) -> bool:
        return self.has_state.any().item()

    @functools.cached_property
    def starts(self) -> torch.Tensor:
        return self.lengths.cumsum(0) - self.lengths


class MetadataBuilder:
    def __init__(self, batch: int):
        self.lengths = torch.ones(batch, dtype=torch.long, device="cuda")
        self.has_state = torch.ones(batch, dtype=torch.bool, device="cuda")

    def build(self) -> HybridMetadata:
        return HybridMetadata(self.lengths, self.has_state)

    def build_for_capture(self) -> HybridMetadata:
        self.lengths.fill_(1)
        return self.build()


class MambaMixer(nn.Module):
    def __init__(self, width: int, batch: int):
        super().__init__()
        self.proj = nn.Linear(width, width, device="cuda")
        self.register_buffer("state", torch.zeros(batch, width, device="cuda"))

    def forward(self, x: torch.Tensor, meta: HybridMetadata) -> torch.Tensor:
        y = self.proj(x)
        if meta.any_state:
            y = y + self.state * meta.has_state[:, None]
        self.state.copy_(y)
        return y.index_select(0, meta.starts)


class HybridRunner:
    def __init__(self, width: int, batch: int):
        self.mixer = MambaMixer(width, batch)
        self.builder = MetadataBuilder(batch)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture_model(self) -> None:
        warm = self.builder.build()
        for _ in range(2):
            self.mixer(self.x, warm)
        torch.cuda.synchronize()
        meta = self.builder.build_for_capture()
        assert meta.any_state and meta.starts.shape == meta.lengths.shape
        with torch.cuda.graph(self.graph):
            self.y = self.mixer(self.x, meta)
