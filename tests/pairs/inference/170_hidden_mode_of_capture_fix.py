"""A new mode records the graphs again."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
import torch.nn as nn


class HiddenMode(enum.IntEnum):
    NONE = 0
    LAST = 1
    FULL = 2


@dataclass
class StepOutput:
    logits: torch.Tensor
    hidden: torch.Tensor | None = None


class LogitsProcessor(nn.Module):
    def __init__(self, width: int, vocabulary: int):
        super().__init__()
        self.head = nn.Linear(width, vocabulary, bias=False, device="cuda")

    def forward(self, hidden: torch.Tensor, mode: HiddenMode) -> StepOutput:
        logits = self.head(hidden)
        if mode == HiddenMode.FULL:
            return StepOutput(logits, hidden)
        if mode == HiddenMode.LAST:
            return StepOutput(logits, hidden[-1:])
        return StepOutput(logits)


class DecodeGraphRunner:
    def __init__(self, model: nn.Module, processor: LogitsProcessor, sizes: list[int], width: int):
        self.model, self.processor = model, processor
        self.sizes = sorted(sizes, reverse=True)
        self.mode = HiddenMode.NONE
        self.x = torch.zeros(self.sizes[0], width, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.outputs: dict[int, StepOutput] = {}
        self.pool = None

    def _forward(self, size: int) -> StepOutput:
        return self.processor(self.model(self.x[:size]), self.mode)

    @torch.inference_mode()
    def capture(self) -> None:
        for size in self.sizes:
            for _ in range(2):
                self._forward(size)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                self.outputs[size] = self._forward(size)
            self.pool = graph.pool()
            self.graphs[size] = graph

    def recapture_if_needed(self, mode: HiddenMode) -> None:
        if mode != self.mode:
            self.mode = mode
            self.capture()

    @torch.inference_mode()
    def replay(self, x: torch.Tensor, mode: HiddenMode) -> StepOutput:
        self.recapture_if_needed(mode)
        n = x.shape[0]
        size = min(s for s in self.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:size].zero_()
        self.graphs[size].replay()
        out = self.outputs[size]
        hidden = None if out.hidden is None else out.hidden[:n].clone()
        return StepOutput(out.logits[:n].clone(), hidden)
