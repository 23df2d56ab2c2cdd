"""Another shape of work on a second stream: a context manager of the project forks, and is to join on leaving.

Fixed form: on leaving the main stream waits for the other one.
"""

from __future__ import annotations

from contextlib import contextmanager

import torch
import torch.nn as nn


class Alternate:
    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()

    @contextmanager
    def forked(self):
        main = torch.cuda.current_stream()
        self.stream.wait_stream(main)
        with torch.cuda.stream(self.stream):
            yield
        main.wait_stream(self.stream)


class TwoBranches(nn.Module):
    def __init__(self, width: int, alternate: Alternate):
        super().__init__()
        self.left, self.right = nn.Linear(width, width), nn.Linear(width, width)
        self.alternate = alternate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.alternate.forked():
            right = self.right(x)
        return self.left(x) + right


def prepare(width: int, batch: int):
    net = TwoBranches(width, Alternate()).cuda().requires_grad_(False)
    x = torch.zeros(batch, width, device="cuda")
    for _ in range(3):
        net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    return net, graph, x, y
