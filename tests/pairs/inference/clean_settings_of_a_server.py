"""Right: numbers from a configuration that nobody changes are part of the recorded step.

What the requests bring (temperature, seeds, lengths) lies in tensors that are filled before the replay.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class ServerConfig:
    batch: int = 8
    vocab: int = 32000
    top_k: int = 50
    softcap: float = 30.0
    penalise: bool = True


@dataclass
class Request:
    temperature: float
    seen: list[int]


class Sampler:
    def __init__(self, config: ServerConfig):
        self.config = config
        self.temperature = torch.ones(config.batch, 1, device="cuda")
        self.seen = torch.zeros(config.batch, config.vocab, device="cuda")

    def fill(self, requests: list[Request]) -> None:
        rows = torch.tensor([r.temperature for r in requests]).pin_memory()
        self.temperature[: len(requests), 0].copy_(rows)
        self.seen.zero_()
        for i, request in enumerate(requests):
            self.seen[i, torch.tensor(request.seen, device="cuda")] = 1.0

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        c = self.config
        logits = torch.tanh(logits / c.softcap) * c.softcap
        if c.penalise:
            logits = logits - self.seen
        top = logits.topk(c.top_k, dim=-1).values[:, -1:]
        probs = (logits / self.temperature).masked_fill(logits < top, float("-inf")).softmax(-1)
        return (probs / torch.empty_like(probs).exponential_()).argmax(-1)


class Step:
    def __init__(self, head: nn.Module, width: int, config: ServerConfig):
        self.head, self.sampler = head, Sampler(config)
        self.hidden = torch.zeros(config.batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.sampler(self.head(self.hidden))
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.sampler(self.head(self.hidden))

    def __call__(self, hidden: torch.Tensor, requests: list[Request]) -> list[int]:
        self.hidden[: hidden.shape[0]].copy_(hidden)
        self.hidden[hidden.shape[0] :].zero_()
        self.sampler.fill(requests)
        self.graph.replay()
        return self.tokens[: len(requests)].tolist()
