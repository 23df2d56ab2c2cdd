"""Symptom: the encoder manager sorts its capture descriptors by size for lookup and captures them in that
order into a shared pool: every larger budget needs fresh memory.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True, order=True)
class Descriptor:
    size: int
    routine: str = "encode"


class EncoderGraphManager:
    def __init__(self, encoder: nn.Module, width: int, descriptors: list[Descriptor]):
        self.encoder, self.width = encoder, width
        self.descriptors = sorted(descriptors, key=lambda d: d.size)
        self.static = torch.zeros(self.descriptors[-1].size, width, device="cuda")
        self.captured: dict[Descriptor, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def _capture(self, descriptor: Descriptor) -> None:
        patches = self.static[: descriptor.size]
        for _ in range(2):
            self.encoder(patches)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.encoder(patches)
        self.captured[descriptor] = (graph, out)

    @torch.inference_mode()
    def capture_all(self) -> None:
        for descriptor in self.descriptors:  # HAZARD: capture-order
            self._capture(descriptor)

    def encode(self, patches: torch.Tensor) -> torch.Tensor:
        n = patches.shape[0]
        chosen = next(d for d in self.descriptors if d.size >= n)
        graph, out = self.captured[chosen]
        self.static[:n].copy_(patches)
        self.static[n : chosen.size].zero_()
        graph.replay()
        return out[:n].clone()


def build(encoder: nn.Module, width: int, budgets: tuple[int, ...] = (64, 256, 1024)) -> EncoderGraphManager:
    manager = EncoderGraphManager(encoder, width, [Descriptor(b) for b in budgets])
    manager.capture_all()
    return manager
