"""Symptom: the communicator wraps its reduction in the default stream, "to be safe": inside a capture that
work goes to a stream which is not captured.
"""

from typing import Protocol

import torch
import torch.nn as nn


class Communicator(Protocol):
    def all_reduce(self, x: torch.Tensor) -> torch.Tensor: ...


class LocalCommunicator:
    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        return x


class PeerCommunicator:
    def __init__(self, ranks: int, numel: int):
        self.ranks = ranks
        self.mailbox = torch.zeros(ranks, numel, device="cuda")

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten()
        with torch.cuda.stream(torch.cuda.default_stream()):  # HAZARD: stream-escape
            self.mailbox[0, : flat.numel()].copy_(flat)
            total = self.mailbox[:, : flat.numel()].sum(0)
        return total.view_as(x)


class RowParallel(nn.Module):
    def __init__(self, width: int, comm: Communicator):
        super().__init__()
        self.lin = nn.Linear(width, width, bias=False)
        self.comm = comm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.comm.all_reduce(self.lin(x))


def make_communicator(ranks: int, numel: int) -> Communicator:
    return PeerCommunicator(ranks, numel) if ranks > 1 else LocalCommunicator()


class Rank:
    def __init__(self, ranks: int, width: int, batch: int):
        self.layer = RowParallel(width, make_communicator(ranks, width * batch)).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
