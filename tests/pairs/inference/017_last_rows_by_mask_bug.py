"""Symptom: only rows with the sample flag go through the head; picking them with a boolean mask needs
their number on the host.
"""

import torch
import torch.nn as nn


class LogitsHead(nn.Module):
    def __init__(self, width: int, vocab: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocab, bias=False)

    def select(self, hidden: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return hidden[wanted > 0]  # HAZARD: dynamic-shape

    def forward(self, hidden: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return self.out(self.norm(self.select(hidden, wanted)))


class PrefillGraph:
    def __init__(self, body: nn.Module, width: int, vocab: int, tokens: int):
        self.body, self.head = body, LogitsHead(width, vocab).cuda()
        self.hidden = torch.zeros(tokens, width, device="cuda")
        self.wanted = torch.zeros(tokens, dtype=torch.int32, device="cuda")

    def _forward(self) -> torch.Tensor:
        return self.head(self.body(self.hidden), self.wanted)

    @torch.inference_mode()
    def build(self):
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        self.graph.capture_begin()
        try:
            self.logits = self._forward()
        finally:
            self.graph.capture_end()
        return self
