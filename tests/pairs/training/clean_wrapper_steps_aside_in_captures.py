"""Clean: a module wrapper that replays graphs of its own calls the module when it is captured itself, and keys its
graphs by shape, dtype and mode."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class Key(NamedTuple):
    shape: tuple[int, ...]
    dtype: torch.dtype
    training: bool


class Graphed(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner.requires_grad_(False)
        self.records = {}

    def _key(self, x: torch.Tensor) -> Key:
        return Key(tuple(x.shape), x.dtype, self.training)

    @torch.no_grad()
    def _record(self, x: torch.Tensor):
        held, side = x.clone(), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.inner(held)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.inner(held)
        return graph, held, out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_cuda or torch.cuda.is_current_stream_capturing():
            return self.inner(x)
        key = self._key(x)
        if key not in self.records:
            self.records[key] = self._record(x)
        graph, held, out = self.records[key]
        held.copy_(x)
        graph.replay()
        return out.clone()


def distil(teacher: nn.Module, loader, width: int = 64, size: int = 32, temperature: float = 2.0) -> float:
    teacher = Graphed(teacher.cuda().eval())
    student = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 10)).cuda()
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    x = torch.zeros(size, width, device="cuda")

    def step():
        opt.zero_grad(set_to_none=True)
        soft = (teacher(x) / temperature).softmax(-1)
        loss = -(soft * (student(x) / temperature).log_softmax(-1)).sum(-1).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for batch in loader:
        x.copy_(batch)
        graph.replay()
    return loss.item()
