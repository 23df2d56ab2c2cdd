"""Drawn from block swapping in vllm and lmdeploy.

Symptom: a step that brings blocks back copies them from ordinary host memory, as its first operation;
the step is captured as a whole.
"""

from typing import NamedTuple

import torch
import torch.nn as nn


class Swap(NamedTuple):
    host: torch.Tensor
    device: torch.Tensor


class BlockStore:
    def __init__(self, blocks: int, width: int):
        self.device = torch.zeros(blocks, width, device="cuda")
        self.host = torch.zeros(blocks, width)

    def swap(self, count: int) -> Swap:
        return Swap(self.host[:count], self.device[:count])


class SwapStep:
    def __init__(self, model: nn.Module, store: BlockStore, batch: int, count: int = 16):
        self.model, self.store, self.count = model, store, count
        self.x = torch.zeros(batch, store.device.shape[1], device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _bring_back(self) -> None:
        swap = self.store.swap(self.count)
        swap.device.copy_(swap.host, non_blocking=True)  # HAZARD: pageable-copy

    def _step(self) -> torch.Tensor:
        self._bring_back()
        return self.model(self.x + self.store.device[: self.x.shape[0]])

    @torch.inference_mode()
    def capture(self) -> None:
        self._bring_back()
        for _ in range(2):
            self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._step()

    @torch.inference_mode()
    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
