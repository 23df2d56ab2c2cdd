"""Symptom: the grammar mask is applied to the rows of constrained requests, which are a Python list; the
index is copied from pageable memory in the captured sampler.
"""

import torch
import torch.nn as nn


class GrammarMask:
    def __init__(self, batch: int, vocab: int):
        self.allowed = torch.ones(batch, vocab, dtype=torch.bool, device="cuda")
        self.rows = list(range(batch))

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        chosen = logits[self.rows]  # HAZARD: pageable-copy
        return chosen.masked_fill(~self.allowed, float("-inf"))

    def fill(self, row: int, tokens: torch.Tensor) -> None:
        self.allowed[row].fill_(False)
        self.allowed[row].index_fill_(0, tokens, True)


class SamplerPipeline:
    def __init__(self, *stages):
        self.stages = list(stages)

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        for stage in self.stages:
            logits = stage(logits)
        return logits.argmax(-1)


class ConstrainedStep:
    def __init__(self, head: nn.Module, width: int, batch: int, vocab: int):
        self.head = head
        self.hidden = torch.zeros(batch, width, device="cuda")
        self.grammar = GrammarMask(batch, vocab)
        self.sampler = SamplerPipeline(lambda x: x.float(), self.grammar.apply, lambda x: x / 0.7)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def __enter__(self):
        for _ in range(2):
            self.sampler(self.head(self.hidden))
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.sampler(self.head(self.hidden))
        return self

    def __exit__(self, *exc) -> None:
        self.graph.reset()

    def step(self, hidden: torch.Tensor, constraints: dict[int, torch.Tensor]) -> torch.Tensor:
        for row, tokens in constraints.items():
            self.grammar.fill(row, tokens)
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.tokens.clone()
