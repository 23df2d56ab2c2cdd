"""Symptom: requests add logits processors to the sampler's list; the captured sampler runs those of the
capture, so a processor added later has no effect.
"""

from abc import ABC, abstractmethod

import torch
import torch.nn as nn


class LogitsProcessor(ABC):
    @abstractmethod
    def __call__(self, logits: torch.Tensor) -> torch.Tensor: ...


class Temperature(LogitsProcessor):
    def __init__(self, value: torch.Tensor):
        self.value = value

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        return logits / self.value


class BannedTokens(LogitsProcessor):
    def __init__(self, mask: torch.Tensor):
        self.mask = mask

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.masked_fill(self.mask, float("-inf"))


class Sampler:
    def __init__(self, batch: int, vocab: int):
        self.logits = torch.zeros(batch, vocab, device="cuda")
        self.processors: list[LogitsProcessor] = [Temperature(torch.ones(batch, 1, device="cuda"))]
        self.graph = torch.cuda.CUDAGraph()

    def add(self, processor: LogitsProcessor) -> None:
        self.processors.append(processor)  # HAZARD: frozen-scalar, side-effect

    def _sample(self) -> torch.Tensor:
        logits = self.logits
        for processor in self.processors:  # ALT: frozen-scalar, side-effect
            logits = processor(logits)
        return logits.argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._sample()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self._sample()

    def sample(self, logits: torch.Tensor) -> torch.Tensor:
        self.logits.copy_(logits)
        self.graph.replay()
        return self.tokens.clone()


def serve(head: nn.Module, hidden: list[torch.Tensor], banned: list[int], vocab: int) -> list[list[int]]:
    sampler = Sampler(hidden[0].shape[0], vocab)
    sampler.capture()
    mask = torch.zeros(1, vocab, dtype=torch.bool, device="cuda")
    mask[:, torch.tensor(banned, device="cuda")] = True
    sampler.add(BannedTokens(mask))
    return [sampler.sample(head(h)).tolist() for h in hidden]
