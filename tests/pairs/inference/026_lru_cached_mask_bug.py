"""Symptom: only an lru_cache with one entry owns the mask that the graph reads; a call with another
length evicts it and the memory is reused.
"""

from functools import lru_cache

import torch
import torch.nn as nn


@lru_cache(maxsize=1)
def causal_mask(length: int) -> torch.Tensor:
    return torch.full((length, length), float("-inf"), device="cuda").triu(1)  # ALT: stale-pointer


class CausalMix(nn.Module):
    def __init__(self, width: int, lengths: tuple):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def mask(self, length: int) -> torch.Tensor:
        return causal_mask(length)  # HAZARD: stale-pointer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.proj(x)
        scores = y @ y.transpose(1, 2) + self.mask(x.shape[1])
        return torch.softmax(scores, -1) @ y


class TextGraphs:
    def __init__(self, width: int, lengths: tuple = (128, 64)):
        self.mix = CausalMix(width, lengths).cuda()
        self.static = {n: torch.zeros(1, n, width, device="cuda") for n in lengths}
        self.graphs, self.outs = {}, {}

    @torch.inference_mode()
    def capture(self) -> None:
        for n, x in self.static.items():
            for _ in range(2):
                self.mix(x)
            torch.cuda.synchronize()
            self.graphs[n] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[n]):
                self.outs[n] = self.mix(x)

    def run(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[1]
        self.static[n].copy_(x)
        self.graphs[n].replay()
        return self.outs[n].clone()
