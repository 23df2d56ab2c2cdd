"""Drawn from accumulation loops of trainers (the last window of an epoch holds fewer micro-batches).

Symptom: the loss is divided by the number of micro-batches in the window; the graph keeps the number of the
first window, and the last window of each epoch trains with too small a gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from torch import nn


def windows(batches: Iterable, size: int) -> Iterator[list]:
    source = iter(batches)
    while window := list(islice(source, size)):
        yield window


class AccumulatingTrainer:
    def __init__(self, net: nn.Module, features: int, batch: int, accumulate: int) -> None:
        self.net = net.cuda()
        self.accumulate = accumulate
        self.divisor = accumulate
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.inputs = torch.zeros(batch, features, device="cuda")
        self.targets = torch.zeros(batch, dtype=torch.long, device="cuda")
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _micro_step(self) -> torch.Tensor:
        logits = self.net(self.inputs)
        loss = nn.functional.cross_entropy(logits, self.targets)
        (loss / self.divisor).backward()  # HAZARD: frozen-scalar
        return loss.detach()

    def _build(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._micro_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._micro_step()
        self.opt.zero_grad(set_to_none=False)

    def window(self, micro_batches: list) -> torch.Tensor:
        if self.graph is None:
            self._build()
        self.divisor = len(micro_batches)  # ALT: frozen-scalar
        total = torch.zeros((), device="cuda")
        for x, y in micro_batches:
            self.inputs.copy_(x, non_blocking=True)
            self.targets.copy_(y, non_blocking=True)
            self.graph.replay()
            total += self.loss
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad(set_to_none=False)
        return total / len(micro_batches)

    def epoch(self, loader) -> list[float]:
        return [float(self.window(w)) for w in windows(loader, self.accumulate)]
