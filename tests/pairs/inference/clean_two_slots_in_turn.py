"""Right: results are handed to a copy stream while the next step runs in the other of two slots.

Each slot has its graph and its host buffer; a slot is used again only after its copy has been waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Slot:
    graph: torch.cuda.CUDAGraph
    tokens: torch.Tensor
    host: torch.Tensor
    copied: torch.cuda.Event


class OverlappedDecoder:
    def __init__(self, model: nn.Module, batch: int):
        self.model = model
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.copy_stream = torch.cuda.Stream()
        self.slots = [self._slot(batch) for _ in range(2)]
        self.turn = 0

    @torch.inference_mode()
    def _slot(self, batch: int) -> Slot:
        for _ in range(2):
            self.model(self.ids)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tokens = self.model(self.ids).argmax(-1)
            self.ids.copy_(tokens)
        host = torch.zeros(batch, dtype=torch.long, pin_memory=True)
        return Slot(graph, tokens, host, torch.cuda.Event())

    def launch(self) -> Slot:
        slot = self.slots[self.turn]
        self.turn ^= 1
        slot.copied.synchronize()
        torch.cuda.current_stream().wait_event(slot.copied)
        slot.graph.replay()
        self.copy_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copy_stream):
            slot.host.copy_(slot.tokens, non_blocking=True)
            slot.copied.record(self.copy_stream)
        return slot

    def generate(self, first: torch.Tensor, steps: int) -> list[list[int]]:
        self.ids.copy_(first)
        out = []
        pending = self.launch()
        for _ in range(steps - 1):
            following = self.launch()
            pending.copied.synchronize()
            out.append(pending.host.tolist())
            pending = following
        pending.copied.synchronize()
        out.append(pending.host.tolist())
        return out
