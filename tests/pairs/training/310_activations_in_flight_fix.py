"""Drawn from captured pipeline stages (compare the schedules of Megatron-LM and pytorch/torchtitan#3820).

Fix: the queue holds a copy of the output of each micro-batch.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn


@dataclass
class InFlight:
    number: int
    activation: torch.Tensor


class StageForward:
    """The forward pass of one stage without gradient, as one graph (activations are recomputed later)."""

    def __init__(self, module: nn.Module, shape: tuple[int, int]) -> None:
        self.module = module
        self.inp = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    @torch.no_grad()
    def _record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.module(self.inp)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.out = self.module(self.inp)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.inp.copy_(x)
        self.graph.replay()
        return self.out


class Pipeline:
    def __init__(self, module: nn.Module, rank: int, world: int, shape: tuple[int, int]) -> None:
        self.module = module.cuda()
        self.rank, self.world = rank, world
        self.shape = shape
        self.forward_graph = StageForward(self.module, shape)
        self.queue: deque[InFlight] = deque()

    def _receive(self, source: int) -> torch.Tensor:
        buffer = torch.empty(self.shape, device="cuda")
        if 0 <= source < self.world:
            dist.recv(buffer, source)
        return buffer

    def _forward(self, number: int, batch: torch.Tensor) -> None:
        x = batch if self.rank == 0 else self._receive(self.rank - 1)
        out = self.forward_graph(x)
        self.queue.append(InFlight(number, out.clone()))
        if self.rank + 1 < self.world:
            dist.send(out, self.rank + 1)

    def _backward(self) -> int:
        held = self.queue.popleft()
        grad = self._receive(self.rank + 1)
        leaf = held.activation.detach().requires_grad_()
        self.module(leaf).backward(grad)
        if self.rank > 0:
            dist.send(leaf.grad, self.rank - 1)
        return held.number

    def run(self, batches: list[torch.Tensor]) -> list[int]:
        warm = min(self.world - self.rank - 1, len(batches))
        order = []
        for number in range(warm):
            self._forward(number, batches[number])
        for number in range(warm, len(batches)):
            self._forward(number, batches[number])
            order.append(self._backward())
        while self.queue:
            order.append(self._backward())
        return order
