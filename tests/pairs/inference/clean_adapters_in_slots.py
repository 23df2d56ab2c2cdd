"""Clean: adapters are loaded into stacked slots in place, the scale of each slot lies on the device, and which slot
a request uses is an index that is copied before each replay.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Adapter:
    name: str
    rank: int
    alpha: float
    a: torch.Tensor
    b: torch.Tensor


class SlottedLoRA(nn.Module):
    def __init__(self, width: int, slots: int, rank: int):
        super().__init__()
        self.base = nn.Linear(width, width, device="cuda")
        self.rank = rank
        self.a = torch.zeros(slots, rank, width, device="cuda")
        self.b = torch.zeros(slots, width, rank, device="cuda")
        self.scale = torch.zeros(slots, 1, 1, device="cuda")

    def set_slot(self, slot: int, adapter: Adapter) -> None:
        self.a[slot].zero_()
        self.b[slot].zero_()
        self.a[slot, : adapter.rank].copy_(adapter.a)
        self.b[slot, :, : adapter.rank].copy_(adapter.b)
        self.scale[slot].fill_(adapter.alpha / adapter.rank)

    def forward(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        low = torch.einsum("nrd,nd->nr", self.a[slots], x)
        delta = torch.einsum("nor,nr->no", self.b[slots], low)
        return self.base(x) + delta * self.scale[slots, 0]


class AdapterManager:
    """Least recently used adapters give their slots away."""

    def __init__(self, layers: list[SlottedLoRA], slots: int):
        self.layers, self.slots = layers, slots
        self.active: OrderedDict[str, int] = OrderedDict()

    def slot(self, adapter: Adapter) -> int:
        if adapter.name in self.active:
            self.active.move_to_end(adapter.name)
            return self.active[adapter.name]
        if len(self.active) < self.slots - 1:
            slot = len(self.active) + 1
        else:
            _, slot = self.active.popitem(last=False)
        for layer in self.layers:
            layer.set_slot(slot, adapter)
        self.active[adapter.name] = slot
        return slot


class LoRARunner:
    def __init__(self, width: int, depth: int, batch: int, slots: int = 8):
        self.layers = [SlottedLoRA(width, slots, 16) for _ in range(depth)]
        self.manager = AdapterManager(self.layers, slots)
        self.x = torch.zeros(batch, width, device="cuda")
        self.slots_host = torch.zeros(batch, dtype=torch.long, pin_memory=True)
        self.slots = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.uploaded = torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        x = self.x
        for layer in self.layers:
            x = torch.relu(layer(x, self.slots))
        return x

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.inference_mode()
    def run(self, x: torch.Tensor, adapters: list[Adapter | None]) -> torch.Tensor:
        self.uploaded.synchronize()
        self.slots_host.zero_()
        for row, adapter in enumerate(adapters):
            if adapter is not None:
                self.slots_host[row] = self.manager.slot(adapter)
        self.slots.copy_(self.slots_host, non_blocking=True)
        self.uploaded.record()
        self.x.zero_()
        self.x[: x.shape[0]].copy_(x)
        self.graph.replay()
        return self.y[: x.shape[0]].clone()
