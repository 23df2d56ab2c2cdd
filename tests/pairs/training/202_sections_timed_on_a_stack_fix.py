"""Drawn from step profilers in trainers (sections that are opened on an exit stack).

Symptom: when timing is on, each section reads the time between its events as it closes. The sections
are opened inside the captured step.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Options:
    time_sections: bool = True
    width: int = 256
    batch: int = 32


@dataclass
class Section:
    name: str
    report: dict[str, float]
    begin: torch.cuda.Event = field(default_factory=lambda: torch.cuda.Event(enable_timing=True))
    end: torch.cuda.Event = field(default_factory=lambda: torch.cuda.Event(enable_timing=True))

    def __enter__(self) -> Section:
        self.begin.record()
        return self

    def __exit__(self, *exc) -> None:
        self.end.record()

    def read(self) -> None:
        self.end.synchronize()
        self.report[self.name] = self.begin.elapsed_time(self.end)


class Sections:
    def __init__(self, enabled: bool):
        self.enabled = enabled
        self.report: dict[str, float] = {}
        self.stack = contextlib.ExitStack()

    def open(self, name: str):
        if not self.enabled:
            return contextlib.nullcontext()
        return Section(name, self.report)


class Trainer:
    def __init__(self, net: nn.Module, options: Options):
        self.net, self.options = net.cuda(), options
        self.sections = Sections(options.time_sections)
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.x = torch.zeros(options.batch, options.width, device="cuda")

    def _step(self) -> torch.Tensor:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.sections.open("step"))
            with self.sections.open("forward"):
                loss = self.net(self.x).square().mean()
            with self.sections.open("backward"):
                self.opt.zero_grad(set_to_none=True)
                loss.backward()
            self.opt.step()
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def fit(self, loader) -> None:
        self.capture()
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()
