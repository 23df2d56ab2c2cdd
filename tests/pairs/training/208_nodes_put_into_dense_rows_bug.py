"""Drawn from graph networks whose readout makes a dense batch of nodes.

Symptom: the width of the dense batch is the size of the largest graph in the batch, which is asked of
the device in every forward.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

READOUTS: dict[str, Callable[..., nn.Module]] = {}


def readout(name: str):
    def register(cls):
        READOUTS[name] = cls
        return cls

    return register


def to_dense(x: torch.Tensor, batch: torch.Tensor, graphs: int, widest: int | None = None):
    counts = torch.zeros(graphs, dtype=torch.long, device=x.device).scatter_add_(
        0, batch, torch.ones_like(batch)
    )
    start = counts.cumsum(0) - counts
    if widest is None:
        widest = int(counts.max())  # HAZARD: sync-in-capture, implicit-sync
    column = torch.arange(x.shape[0], device=x.device) - start[batch]
    dense = x.new_zeros(graphs, widest, x.shape[1])
    dense[batch, column.clamp(max=widest - 1)] = x
    return dense


@readout("mean")
class MeanReadout(nn.Module):
    def forward(self, x: torch.Tensor, batch: torch.Tensor, graphs: int) -> torch.Tensor:
        out = x.new_zeros(graphs, x.shape[1])
        return out.index_add_(0, batch, x)


@readout("attention")
class AttentionReadout(nn.Module):
    def __init__(self, width: int = 64):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)

    def forward(self, x: torch.Tensor, batch: torch.Tensor, graphs: int) -> torch.Tensor:
        dense = to_dense(x, batch, graphs)
        y, _ = self.attention(dense, dense, dense, need_weights=False)
        return y.mean(1)


class GraphRegressor(nn.Module):
    def __init__(self, width: int = 64, kind: str = "attention"):
        super().__init__()
        self.encode = nn.Linear(width, width)
        self.readout = READOUTS[kind]()
        self.head = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor, batch: torch.Tensor, graphs: int) -> torch.Tensor:
        return self.head(self.readout(torch.relu(self.encode(x)), batch, graphs))


class Trainer:
    def __init__(self, nodes: int, graphs: int, width: int = 64):
        self.net, self.graphs = GraphRegressor(width).cuda(), graphs
        self.x = torch.zeros(nodes, width, device="cuda")
        self.batch = torch.zeros(nodes, dtype=torch.long, device="cuda")
        self.y = torch.zeros(graphs, 1, device="cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def _loss(self) -> torch.Tensor:
        return (self.net(self.x, self.batch, self.graphs) - self.y).abs().mean()

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._loss().backward()
        torch.cuda.current_stream().wait_stream(side)
        self.opt.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._loss()
            self.loss.backward()

    def step(self, x, batch, y) -> None:
        self.x.copy_(x)
        self.batch.copy_(batch)
        self.y.copy_(y)
        self.graph.replay()
        self.opt.step()
