"""Drawn from asynchronous checkpoints beside a captured training step.

Fix: the stream that replays waits for the copy before the next step.
"""

from __future__ import annotations

import pathlib

import torch
from torch import nn


class Snapshot:
    def __init__(self, module: nn.Module, folder: pathlib.Path) -> None:
        self.module = module
        self.folder = folder
        self.stream = torch.cuda.Stream()
        self.copies = {name: torch.empty_like(value) for name, value in module.state_dict().items()}
        self.done = torch.cuda.Event()

    def take(self) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream), torch.no_grad():
            for name, value in self.module.named_parameters():
                self.copies[name].copy_(value)
            self.done.record(self.stream)

    def order(self) -> None:
        torch.cuda.current_stream().wait_event(self.done)

    def write(self, step: int) -> None:
        self.done.synchronize()
        torch.save(self.copies, self.folder / f"step{step}.pt")


class CapturedTrainer:
    def __init__(self, net: nn.Module, width: int, folder: pathlib.Path) -> None:
        self.net = net.cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=1e-2, momentum=0.9)
        self.inp = torch.zeros(32, width, device="cuda")
        self.snapshot = Snapshot(self.net, folder)
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        self.net(self.inp).square().mean().backward()
        self.opt.step()

    def capture(self) -> None:
        warm = torch.cuda.Stream()
        warm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(warm)
        with torch.cuda.graph(self.graph):
            self._step()

    def train(self, batches: list[torch.Tensor], every: int = 100) -> None:
        self.capture()
        for step, batch in enumerate(batches):
            self.inp.copy_(batch)
            self.snapshot.order()
            self.graph.replay()
            if step % every == 0:
                self.snapshot.take()
        self.snapshot.write(len(batches))
