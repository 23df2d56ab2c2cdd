"""The event of the copy is waited for."""

from __future__ import annotations

import torch
import torch.nn as nn


class PendingCopy:
    def __init__(self, batch: int):
        self.host = torch.zeros(batch, dtype=torch.long, pin_memory=True)
        self.event = torch.cuda.Event()

    def start(self, tokens: torch.Tensor) -> None:
        self.host.copy_(tokens, non_blocking=True)
        self.event.record()

    def result(self) -> list[int]:
        self.event.synchronize()
        return self.host.tolist()


class AsyncDecoder:
    def __init__(self, model: nn.Module, batch: int):
        self.model = model
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.copy = PendingCopy(batch)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.model(self.ids).argmax(-1)

    @torch.inference_mode()
    def step(self, ids: torch.Tensor) -> list[int]:
        self.ids.copy_(ids)
        self.graph.replay()
        self.copy.start(self.tokens)
        return self.copy.result()
