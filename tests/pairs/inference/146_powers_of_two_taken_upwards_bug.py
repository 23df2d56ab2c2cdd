"""Drawn from encoder graphs in vllm and sglang (token budgets that double).

Symptom: budgets are generated from the smallest on and captured in this order into one pool; the
blocks that are free after a small capture are too small for the next one.
"""

import itertools
from collections.abc import Iterator

import torch
import torch.nn as nn


def budgets(largest: int) -> Iterator[int]:
    doubling = (64 * 2**i for i in itertools.count())
    return itertools.takewhile(lambda n: n <= largest, doubling)


class EncoderGraphs:
    def __init__(self, encoder: nn.Module, width: int, largest: int = 8192):
        self.encoder = encoder
        self.budgets = list(budgets(largest))
        self.patches = torch.zeros(largest, width, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.entries: dict[int, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}

    @torch.inference_mode()
    def capture(self) -> None:
        for budget in self.budgets:  # HAZARD: capture-order
            patches = self.patches[:budget]
            for _ in range(2):
                self.encoder(patches)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                features = self.encoder(patches)
            self.entries[budget] = (graph, features)

    @torch.inference_mode()
    def encode(self, patches: torch.Tensor) -> torch.Tensor:
        n = patches.shape[0]
        budget = next((b for b in self.budgets if b >= n), None)
        if budget is None:
            return self.encoder(patches)
        self.patches[:n].copy_(patches)
        self.patches[n:budget].zero_()
        graph, features = self.entries[budget]
        graph.replay()
        return features[:n].clone()
