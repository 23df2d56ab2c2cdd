"""Fixed form: the counter is read by whoever asks for the statistics."""

import functools
from contextlib import contextmanager

import torch
import torch.nn as nn


class Overflow:
    def __init__(self):
        self.seen = torch.zeros((), dtype=torch.long, device="cuda")
        self.total = 0

    @contextmanager
    def watch(self, limit: float):
        found: list[torch.Tensor] = []
        try:
            yield found
        finally:
            for t in found:
                self.seen.add_((t.abs() > limit).sum())


OVERFLOW = Overflow()


def watched(limit: float):
    def decorate(forward):
        @functools.wraps(forward)
        def inner(self, x):
            with OVERFLOW.watch(limit) as found:
                y = forward(self, x)
                found.append(y)
            return y

        return inner

    return decorate


class Mlp(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    @watched(limit=6e4)
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.nn.functional.gelu(self.up(x)))


def graphed(width: int, batch: int):
    mlp = Mlp(width).cuda()
    sample = torch.zeros(batch, width, device="cuda")
    with torch.inference_mode():
        for _ in range(2):
            mlp(sample)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = mlp(sample)
    return graph, sample, out
