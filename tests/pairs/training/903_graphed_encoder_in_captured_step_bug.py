"""Drawn from trainers that capture the whole step of a model whose frozen encoder is wrapped in a graph already.

Symptom: "Cannot prepare for replay during capturing stage": the wrapper replays its own graph while the step is being
captured.
"""

from __future__ import annotations

import torch
from torch import nn


class GraphWrapper(nn.Module):
    """Replays the forward of a frozen module; one graph for each shape of the input."""

    def __init__(self, inner: nn.Module, warmup: int = 2) -> None:
        super().__init__()
        self.inner = inner.eval().requires_grad_(False)
        self.warmup = warmup
        self.graphs: dict[tuple[int, ...], tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]] = {}

    @torch.no_grad()
    def _record(self, x: torch.Tensor) -> None:
        held = x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(self.warmup):
                self.inner(held)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.inner(held)
        self.graphs[tuple(x.shape)] = (graph, held, out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = tuple(x.shape)
        if key not in self.graphs:
            self._record(x)
        graph, held, out = self.graphs[key]
        held.copy_(x)
        graph.replay()  # HAZARD: other, sync-in-capture
        return out.clone()


class Probe(nn.Module):
    def __init__(self, encoder: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.encoder = GraphWrapper(encoder)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.encoder(x))


def train(encoder: nn.Module, loader, width: int = 128, classes: int = 10, size: int = 64) -> float:
    model = Probe(encoder.cuda(), width, classes).cuda()
    opt = torch.optim.SGD(model.head.parameters(), lr=0.1)
    x = torch.zeros(size, width, device="cuda")
    y = torch.zeros(size, dtype=torch.long, device="cuda")

    def step():
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    whole = torch.cuda.CUDAGraph()
    with torch.cuda.graph(whole):
        loss = step()  # ALT: other
    for bx, by in loader:
        x.copy_(bx)
        y.copy_(by)
        whole.replay()
    return loss.item()
