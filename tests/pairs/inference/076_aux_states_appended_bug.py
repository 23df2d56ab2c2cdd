"""Symptom: the target model collects hidden states of chosen layers for the draft model in a list that
is never emptied in the captured pass: replays add nothing, and the draft reads those of warm-up.
"""

import torch
import torch.nn as nn


class AuxCollector:
    def __init__(self, layers: set[int]):
        self.layers = layers
        self.states: list[torch.Tensor] = []

    def offer(self, index: int, hidden: torch.Tensor) -> None:
        if index in self.layers:
            self.states.append(hidden)  # HAZARD: side-effect

    def take(self, count: int) -> torch.Tensor:
        return torch.cat(self.states[:count], dim=-1)


class Target(nn.Module):
    def __init__(self, vocab: int, width: int, depth: int, collector: AuxCollector):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, vocab)
        self.collector = collector

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for i, block in enumerate(self.blocks):
            x = torch.relu(block(x))
            self.collector.offer(i, x)
        return self.head(x)


class VerifyRunner:
    def __init__(self, vocab: int, width: int, depth: int, batch: int):
        self.collector = AuxCollector({0, depth // 2, depth - 1})
        self.target = Target(vocab, width, depth, self.collector).cuda()
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.target(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.target(self.ids)

    def verify(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.logits.clone(), self.collector.take(3)
