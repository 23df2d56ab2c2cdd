"""Drawn from debugging wrappers (each layer is wrapped in a module that notes its calls).

Symptom: the note holds the text of the arguments; making the text of a CUDA tensor reads its values.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class CallLog:
    def __init__(self, limit: int = 1000):
        self.lines: list[str] = []
        self.limit = limit

    def note(self, name: str, *args) -> None:
        if len(self.lines) < self.limit:
            self.lines.append(name + "(" + ", ".join(map(repr, args)) + ")")  # HAZARD: implicit-sync


class Traced(nn.Module):
    def __init__(self, name: str, inner: nn.Module, log: CallLog):
        super().__init__()
        self.name, self.inner, self.log = name, inner, log

    def forward(self, *args):
        self.log.note(self.name, *args)
        return self.inner(*args)


def traced(layers: Iterable[nn.Module], log: CallLog) -> nn.Sequential:
    return nn.Sequential(*(Traced(f"layer{i}", layer, log) for i, layer in enumerate(layers)))


class Trainer:
    def __init__(self, width: int, depth: int):
        self.log = CallLog()
        self.net = traced((nn.Linear(width, width) for _ in range(depth)), self.log).cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(16, width, device="cuda")

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def fit(self, loader) -> list[str]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        for x in loader:
            self.x.copy_(x)
            graph.replay()
        return self.log.lines
