"""Clean: each phase of a fine-tuning run freezes what it does not train, builds its optimizer and captures anew; hooks
are registered before the capture, and counts on the host belong to eager code."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Phase:
    prefixes: tuple[str, ...]
    lr: float
    steps: int


@dataclass
class Report:
    steps: int = 0
    losses: list[float] = field(default_factory=list)

    def note(self, loss: torch.Tensor) -> None:
        self.steps += 1
        if self.steps % 10 == 0:
            self.losses.append(loss.item())


class Statistics:
    """The norm of the activations of some layers, kept on the device by hooks."""

    def __init__(self, model: nn.Module, names: tuple[str, ...]) -> None:
        self.norms = {name: torch.zeros((), device="cuda") for name in names}
        for name, module in model.named_modules():
            if name in names:
                module.register_forward_hook(self._hook(name))

    def _hook(self, name: str):
        def note(module: nn.Module, args: tuple, output: torch.Tensor) -> None:
            self.norms[name].copy_(output.detach().norm())

        return note


class Runner:
    def __init__(self, model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
        self.model, self.x, self.y = model, x, y
        self.report = Report()

    def _capture(self, opt: torch.optim.Optimizer) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
        def step() -> torch.Tensor:
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(self.model(self.x), self.y)
            loss.backward()
            opt.step()
            return loss

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step()
        return graph, loss

    def run(self, phase: Phase, batches) -> None:
        for name, p in self.model.named_parameters():
            p.requires_grad_(name.startswith(phase.prefixes))
        wanted = [p for p in self.model.parameters() if p.requires_grad]
        opt = torch.optim.AdamW(wanted, lr=phase.lr, capturable=True)
        graph, loss = self._capture(opt)
        for _ in range(phase.steps):
            x, y = next(batches)
            self.x.copy_(x, non_blocking=True)
            self.y.copy_(y, non_blocking=True)
            graph.replay()
            self.report.note(loss)


def main(model: nn.Module, batches, rows: int, features: int) -> list[float]:
    model = model.cuda()
    statistics = Statistics(model, ("head",))
    runner = Runner(
        model,
        torch.zeros(rows, features, device="cuda"),
        torch.zeros(rows, dtype=torch.long, device="cuda"),
    )
    for phase in (Phase(("head",), 1e-3, 200), Phase(("head", "body"), 1e-5, 1000)):
        runner.run(phase, batches)
        print({name: norm.item() for name, norm in statistics.norms.items()})
    return runner.report.losses
