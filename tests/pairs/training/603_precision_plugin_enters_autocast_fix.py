"""Drawn from trainers with precision plugins (compare Lightning Fabric) around a captured step.

Fix: the plugin enters autocast without the cache.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn


class Precision:
    """No change of precision."""

    @contextlib.contextmanager
    def forward_context(self) -> Iterator[None]:
        yield

    def convert(self, batch: torch.Tensor) -> torch.Tensor:
        return batch


class MixedPrecision(Precision):
    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    @contextlib.contextmanager
    def forward_context(self) -> Iterator[None]:
        with torch.autocast("cuda", dtype=self.dtype, cache_enabled=False):
            yield


class Fabric:
    def __init__(self, precision: Precision) -> None:
        self.precision = precision

    def forward(self, module: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        with self.precision.forward_context():
            return module(self.precision.convert(batch))


class GraphedForward:
    """Replays the forward pass of a module without gradient, for distillation targets."""

    def __init__(self, module: nn.Module, sample: torch.Tensor) -> None:
        self.module = module
        self.inp = sample.clone()
        self.graph: torch.cuda.CUDAGraph | None = None

    @torch.no_grad()
    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        self.inp.copy_(batch)
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    self.module(self.inp)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.module(self.inp)
        self.graph.replay()
        return self.out.clone()


def distill(teacher: nn.Module, student: nn.Module, batches, lr: float = 1e-3) -> None:
    fabric = Fabric(MixedPrecision(torch.bfloat16))
    teacher, student = teacher.cuda(), student.cuda()
    sample = torch.zeros(32, 512, device="cuda")
    targets = GraphedForward(teacher, sample)
    opt = torch.optim.SGD(student.parameters(), lr=lr)
    for number, batch in enumerate(batches):
        batch = batch.cuda(non_blocking=True)
        with fabric.precision.forward_context():
            wanted = targets(batch)
        loss = nn.functional.mse_loss(fabric.forward(student, batch), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if number % 100 == 0:
            with torch.no_grad():
                for t, s in zip(teacher.parameters(), student.parameters()):
                    t.lerp_(s, 0.01)
