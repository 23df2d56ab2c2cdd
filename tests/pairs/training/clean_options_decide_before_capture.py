"""Clean: a configurable step whose branches depend on options that stay; a counter and a timer of the host run outside
of the recorded function, and the debug hook is only installed where no graph is used."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import nn

LOSSES = {
    "l1": F.l1_loss,
    "l2": F.mse_loss,
    "huber": partial(F.huber_loss, delta=0.5),
}


@dataclass(frozen=True)
class Options:
    loss: Literal["l1", "l2", "huber"] = "huber"
    clip: float | None = 1.0
    penalty: float = 0.0
    graphs: bool = True
    debug: bool = False


def report_shapes(module: nn.Module, inputs, output) -> None:
    print(type(module).__name__, tuple(output.shape), output.abs().max().item())


class Regression:
    def __init__(self, model: nn.Module, options: Options, width: int, size: int) -> None:
        self.model, self.options = model.cuda(), options
        self.loss_fn = LOSSES[options.loss]
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)
        self.x = torch.zeros(size, width, device="cuda")
        self.y = torch.zeros(size, 1, device="cuda")
        self.steps, self.seconds = 0, 0.0
        if options.debug and not options.graphs:
            for module in model.modules():
                module.register_forward_hook(report_shapes)
        self.graph = self._record() if options.graphs else None

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.model(self.x), self.y)
        if self.options.penalty > 0:
            loss = loss + self.options.penalty * sum(p.square().sum() for p in self.model.parameters())
        loss.backward()
        if self.options.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.opt.step()
        return loss.detach()

    def _record(self) -> torch.cuda.CUDAGraph:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.loss = self._step()
        return graph

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        begin = time.perf_counter()
        self.x.copy_(x)
        self.y.copy_(y)
        if self.graph is None:
            self.loss = self._step()
        else:
            self.graph.replay()
        self.steps += 1
        self.seconds += time.perf_counter() - begin


def main(loader) -> None:
    run = Regression(
        nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)), Options(penalty=1e-4), 16, 64
    )
    for number, (x, y) in enumerate(loader):
        run(x, y)
        if number % 100 == 99:
            print(f"{run.steps}: {run.loss.item():.4f} ({run.seconds / run.steps * 1e3:.2f} ms)")
