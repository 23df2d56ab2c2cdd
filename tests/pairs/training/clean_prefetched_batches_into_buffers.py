"""Clean: batches are brought over on a stream of their own into one of two landing buffers; the captured step has
its own inputs, and events order the copies in both directions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn


class Landing:
    def __init__(self, shapes: dict[str, tuple[torch.Size, torch.dtype]]) -> None:
        self.tensors = {
            name: torch.empty(shape, dtype=dtype, device="cuda") for name, (shape, dtype) in shapes.items()
        }
        self.filled = torch.cuda.Event()
        self.drained = torch.cuda.Event()


class Prefetcher:
    def __init__(self, loader, sample: dict[str, torch.Tensor]) -> None:
        self.loader = loader
        self.stream = torch.cuda.Stream()
        shapes = {name: (value.shape, value.dtype) for name, value in sample.items()}
        self.landings = [Landing(shapes), Landing(shapes)]
        for landing in self.landings:
            landing.drained.record()

    def _fetch(self, source: Iterator, landing: Landing) -> bool:
        batch = next(source, None)
        if batch is None:
            return False
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(landing.drained)
            for name, value in batch.items():
                landing.tensors[name].copy_(value.pin_memory(), non_blocking=True)
            landing.filled.record(self.stream)
        return True

    def __iter__(self) -> Iterator[Landing]:
        source = iter(self.loader)
        turn = 0
        more = self._fetch(source, self.landings[0])
        while more:
            landing = self.landings[turn]
            turn = 1 - turn
            more = self._fetch(source, self.landings[turn])
            torch.cuda.current_stream().wait_event(landing.filled)
            yield landing
            landing.drained.record()


class Trainer:
    def __init__(self, net: nn.Module, loader, sample: dict[str, torch.Tensor]) -> None:
        self.net = net.cuda()
        self.prefetcher = Prefetcher(loader, sample)
        self.static = {name: torch.zeros_like(value, device="cuda") for name, value in sample.items()}
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9, nesterov=True)
        self.side = torch.cuda.Stream()

    @contextlib.contextmanager
    def on_side(self):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            yield
        torch.cuda.current_stream().wait_stream(self.side)

    def step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.net(self.static["x"]), self.static["y"])
        loss.backward()
        self.opt.step()
        return loss

    def fit(self, epochs: int) -> list[float]:
        with self.on_side():
            for _ in range(3):
                self.step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.side):
            loss = self.step()
        history = []
        for _ in range(epochs):
            total = torch.zeros((), device="cuda")
            for landing in self.prefetcher:
                for name, value in landing.tensors.items():
                    self.static[name].copy_(value)
                graph.replay()
                total += loss
            history.append(total.item())
        return history
