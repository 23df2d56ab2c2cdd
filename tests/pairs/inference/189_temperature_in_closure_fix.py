"""The numbers lie on the device and are filled before each replay."""

from __future__ import annotations

from collections.abc import Callable

import torch

Processor = Callable[[torch.Tensor], torch.Tensor]
HEAT = torch.ones((), device="cuda")
FLOOR = torch.zeros((), device="cuda")


def temperature(value: float) -> Processor:
    return lambda logits: logits / HEAT


def minimum(value: float) -> Processor:
    def process(logits: torch.Tensor) -> torch.Tensor:
        probs = logits.softmax(-1)
        return logits.masked_fill(probs < FLOOR * probs.amax(-1, keepdim=True), float("-inf"))

    return process


class ProcessedSampler:
    def __init__(self, batch: int, vocabulary: int):
        self.logits = torch.zeros(batch, vocabulary, device="cuda")
        self.processors: list[Processor] = [temperature(1.0), minimum(0.0)]
        self.graph = torch.cuda.CUDAGraph()

    def _sample(self) -> torch.Tensor:
        logits = self.logits
        for process in self.processors:
            logits = process(logits)
        return logits.argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._sample()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self._sample()

    def configure(self, heat: float, floor: float) -> None:
        HEAT.fill_(heat)
        FLOOR.fill_(floor)

    @torch.inference_mode()
    def sample(self, logits: torch.Tensor, heat: float, floor: float) -> torch.Tensor:
        self.configure(heat, floor)
        self.logits.copy_(logits)
        self.graph.replay()
        return self.tokens.clone()
