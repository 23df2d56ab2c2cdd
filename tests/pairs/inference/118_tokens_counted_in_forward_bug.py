"""Symptom: the model counts the tokens that it has processed; the count drives the scheduler's pacing, but
only the calls of the warm-up and the capture have counted.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Usage:
    tokens: int = 0
    calls: int = 0


class MeteredModel(nn.Module):
    def __init__(self, vocab: int, width: int, usage: Usage):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        self.usage = usage

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.usage.tokens += ids.numel()  # HAZARD: side-effect
        self.usage.calls += 1  # HAZARD: side-effect
        return self.head(self.embed(ids))


class PacedServer:
    def __init__(self, vocab: int, width: int, batch: int, budget: int):
        self.usage, self.budget = Usage(), budget
        self.model = MeteredModel(vocab, width, self.usage).cuda()
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def start(self) -> None:
        for _ in range(2):
            self.model(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.model(self.ids)

    def may_go_on(self) -> bool:
        return self.usage.tokens < self.budget and self.usage.calls < 1000

    def step(self, ids: torch.Tensor) -> torch.Tensor | None:
        if not self.may_go_on():
            return None
        self.ids.copy_(ids)
        self.graph.replay()
        return self.logits.clone()
