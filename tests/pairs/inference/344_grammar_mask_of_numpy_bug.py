"""Source: dottxt-ai/outlines#1412, mlc-ai/xgrammar#188

Symptom: a logits processor of a guided decoding library builds its mask with numpy for each call and
moves it to the device; inside the recorded sampling step that copy is not allowed.
"""

from typing import Protocol

import numpy as np
import torch
import torch.nn as nn


class LogitsProcessor(Protocol):
    def __call__(self, logits: torch.Tensor) -> torch.Tensor: ...


class TemperatureProcessor:
    def __init__(self, batch: int):
        self.temperature = torch.ones(batch, 1, device="cuda")

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        return logits / self.temperature


class GrammarProcessor:
    def __init__(self, vocab: int, allowed: list[int]):
        self.vocab, self.allowed = vocab, allowed

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        mask = np.zeros(self.vocab, dtype=bool)
        mask[self.allowed] = True
        allowed = torch.from_numpy(mask).to(logits.device)  # HAZARD: pageable-copy
        return logits.masked_fill(~allowed, float("-inf"))


class GuidedSampler:
    def __init__(self, head: nn.Module, processors: list[LogitsProcessor], batch: int, width: int):
        self.head, self.processors = head.cuda(), processors
        self.hidden = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _sample(self) -> torch.Tensor:
        logits = self.head(self.hidden)
        for process in self.processors:
            logits = process(logits)
        return logits.argmax(dim=-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._sample()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self._sample()

    def sample(self, hidden: torch.Tensor) -> torch.Tensor:
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.tokens.clone()


def guided(head: nn.Module, vocab: int, allowed: list[int], batch: int, width: int) -> GuidedSampler:
    sampler = GuidedSampler(
        head, [TemperatureProcessor(batch), GrammarProcessor(vocab, allowed)], batch, width
    )
    sampler.capture()
    return sampler
