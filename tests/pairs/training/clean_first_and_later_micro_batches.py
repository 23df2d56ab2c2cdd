"""Clean: the first micro-batch of a step casts the weights, the others reuse them: each kind has its own graph over
shared master weights, and the accumulated loss is read once per step."""

from __future__ import annotations

import torch
from torch import nn


class CastLinear(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.register_buffer("cast", torch.zeros(width, width, dtype=torch.bfloat16), persistent=False)

    def forward(self, x: torch.Tensor, first: bool) -> torch.Tensor:
        if first:
            with torch.no_grad():
                self.cast.copy_(self.weight)
        return torch.relu(x @ self.cast.float() + 0.0 * (x @ self.weight))


class Net(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(CastLinear(width) for _ in range(depth))

    def forward(self, x: torch.Tensor, first: bool) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, first)
        return x


class MicroBatchGraphs:
    def __init__(self, net: Net, batch: int, width: int, micro_batches: int) -> None:
        self.net = net.cuda()
        self.micro_batches = micro_batches
        self.x = torch.zeros(batch, width, device="cuda")
        self.loss_sum = torch.zeros((), device="cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)
        self.graphs = {first: self._capture(first) for first in (True, False)}
        self._clear()

    def _micro(self, first: bool) -> None:
        loss = self.net(self.x, first).square().mean() / self.micro_batches
        loss.backward()
        self.loss_sum.add_(loss.detach())

    def _capture(self, first: bool) -> torch.cuda.CUDAGraph:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._micro(first)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._micro(first)
        return graph

    def _clear(self) -> None:
        for p in self.net.parameters():
            p.grad.zero_()
        self.loss_sum.zero_()

    def step(self, batches: list[torch.Tensor]) -> float:
        for number, batch in enumerate(batches):
            self.x.copy_(batch)
            self.graphs[number == 0].replay()
        self.opt.step()
        value = self.loss_sum.item()
        self._clear()
        return value


def main(loader, steps: int) -> list[float]:
    run = MicroBatchGraphs(Net(256, 4), 32, 256, micro_batches=4)
    source = iter(loader)
    return [run.step([next(source) for _ in range(4)]) for _ in range(steps)]
