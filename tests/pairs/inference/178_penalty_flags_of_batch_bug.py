"""After sampling metadata with `no_penalties` flags.

Symptom: whether penalties are applied is a flag of the batch. The sampler was recorded for a batch without any,
and requests with a repetition penalty are sampled without it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Request:
    repetition: float = 1.0
    temperature: float = 1.0


class SamplingState:
    def __init__(self, batch: int, vocabulary: int):
        self.temperature = torch.ones(batch, 1, device="cuda")
        self.repetition = torch.ones(batch, 1, device="cuda")
        self.seen = torch.zeros(batch, vocabulary, dtype=torch.bool, device="cuda")
        self.no_penalties = True

    def update(self, requests: list[Request]) -> None:
        values = torch.tensor([[r.temperature, r.repetition] for r in requests])
        self.temperature[: len(requests)].copy_(values[:, :1])
        self.repetition[: len(requests)].copy_(values[:, 1:])
        self.no_penalties = all(r.repetition == 1.0 for r in requests)  # ALT: frozen-scalar


class Sampler(nn.Module):
    def forward(self, logits: torch.Tensor, state: SamplingState) -> torch.Tensor:
        logits = logits / state.temperature
        if not state.no_penalties:  # HAZARD: frozen-scalar
            weakened = torch.where(logits > 0, logits / state.repetition, logits * state.repetition)
            logits = torch.where(state.seen, weakened, logits)
        return logits.argmax(-1)


class SamplerGraph:
    def __init__(self, batch: int, vocabulary: int):
        self.sampler = Sampler()
        self.state = SamplingState(batch, vocabulary)
        self.logits = torch.zeros(batch, vocabulary, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.sampler(self.logits, self.state)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.sampler(self.logits, self.state)

    @torch.inference_mode()
    def sample(self, logits: torch.Tensor, requests: list[Request]) -> torch.Tensor:
        self.state.update(requests)
        self.logits.copy_(logits)
        self.graph.replay()
        return self.tokens.clone()
