"""After an adapter manager that stacks the weights of its slots.

Symptom: loading an adapter of a higher rank stacks all slots anew, and recorded layers read the old stack.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class AdapterSlots:
    def __init__(self, slots: int, width: int, rank: int):
        self.slots, self.width, self.rank = slots, width, rank
        self._allocate()

    def _allocate(self) -> None:
        self.a = torch.zeros(self.slots, self.width, self.rank, device="cuda")  # HAZARD: rebind-static-input
        self.b = torch.zeros(self.slots, self.rank, self.width, device="cuda")  # HAZARD: rebind-static-input

    def load(self, slot: int, a: torch.Tensor, b: torch.Tensor) -> None:
        rank = a.shape[1]
        if rank > self.rank:
            old_a, old_b, old = self.a, self.b, self.rank
            self.rank = rank
            self._allocate()
            self.a[:, :, :old].copy_(old_a)
            self.b[:, :old].copy_(old_b)
        self.a[slot, :, :rank].copy_(a)
        self.b[slot, :rank].copy_(b)


class AdaptedLinear(nn.Module):
    def __init__(self, width: int, slots: AdapterSlots):
        super().__init__()
        self.base = nn.Linear(width, width, device="cuda")
        self.slots = slots

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        down = torch.einsum("bd,bdr->br", x, self.slots.a[ids])
        return self.base(x) + torch.einsum("br,brd->bd", down, self.slots.b[ids])


class Worker:
    def __init__(self, layer: AdaptedLinear, batch: int, width: int):
        self.layer = layer
        self.x = torch.zeros(batch, width, device="cuda")
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x, self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x, self.ids)

    def add_adapter(self, slot: int, a: torch.Tensor, b: torch.Tensor) -> None:
        self.layer.slots.load(slot, a, b)

    def execute(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.ids.copy_(ids)
        self.graph.replay()
        return self.y.clone()
