"""After a linear-attention backend that prepares lists of accepted states once for all of its layers.

Fixed form: the lists are cleared before the capture, so that their preparation is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class ForwardMetadata:
    slots: torch.Tensor
    accepted: torch.Tensor
    rows: torch.Tensor | None = None


def accepted_rows(metadata: ForwardMetadata) -> torch.Tensor:
    if metadata.rows is None:
        metadata.rows = metadata.slots * 4 + metadata.accepted.clamp(min=1) - 1
    return metadata.rows


class DeltaLayer(nn.Module):
    def __init__(self, width: int, slots: int):
        super().__init__()
        self.mix = nn.Linear(width, width, device="cuda")
        self.register_buffer("states", torch.zeros(slots * 4, width, device="cuda"))

    def forward(self, x: torch.Tensor, metadata: ForwardMetadata) -> torch.Tensor:
        rows = accepted_rows(metadata)
        state = torch.tanh(self.mix(x) + self.states[rows])
        self.states.index_copy_(0, rows, state)
        return state


class VerifyRunner:
    def __init__(self, layers: nn.ModuleList, batch: int, width: int):
        self.layers = layers
        self.x = torch.zeros(batch, width, device="cuda")
        self.slots = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.accepted = torch.ones(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self, metadata: ForwardMetadata) -> torch.Tensor:
        h = self.x
        for layer in self.layers:
            h = layer(h, metadata)
        return h

    @torch.inference_mode()
    def capture(self) -> None:
        metadata = ForwardMetadata(self.slots, self.accepted)
        for _ in range(2):
            self._forward(metadata)
        torch.cuda.synchronize()
        metadata.rows = None
        with torch.cuda.graph(self.graph):
            self.hidden = self._forward(metadata)

    def verify(self, x: torch.Tensor, slots: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.slots.copy_(slots)
        self.accepted.copy_(accepted)
        self.graph.replay()
        return self.hidden.clone()
