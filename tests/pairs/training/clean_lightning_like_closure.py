"""Clean: the optimizer runs a closure that is captured with it; hooks and callbacks see copies after the replay, and
the schedule fills the tensor of the rate."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Callback:
    def on_step_end(self, trainer: Trainer, loss: torch.Tensor) -> None:
        """Does nothing unless it is overridden."""


class History(Callback):
    def __init__(self) -> None:
        self.values: list[torch.Tensor] = []

    def on_step_end(self, trainer: Trainer, loss: torch.Tensor) -> None:
        self.values.append(loss)


class EarlyStop(Callback):
    def __init__(self, patience: int) -> None:
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def on_step_end(self, trainer: Trainer, loss: torch.Tensor) -> None:
        value = loss.item()
        self.bad = 0 if value < self.best else self.bad + 1
        self.best = min(self.best, value)
        trainer.stop = self.bad > self.patience


class Task(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def training_step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return nn.functional.mse_loss(self.net(batch["x"]).squeeze(-1), batch["y"])

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=torch.tensor(0.1, device="cuda"), momentum=0.9)


class Trainer:
    def __init__(self, task: Task, sample: dict[str, torch.Tensor], callbacks: list[Callback]) -> None:
        self.task = task.cuda()
        self.opt = task.optimizer()
        self.callbacks = callbacks
        self.batch = {name: value.cuda().clone() for name, value in sample.items()}
        self.stop = False

    def _closure(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self.task.training_step(self.batch)
        loss.backward()
        return loss

    def _record(self) -> Callable[[], torch.Tensor]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.opt.step(self._closure)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.opt.step(self._closure)

        def run() -> torch.Tensor:
            graph.replay()
            return loss.clone()

        return run

    def fit(self, loader, schedule: Callable[[int], float]) -> None:
        run = self._record()
        for number, batch in enumerate(loader):
            for name, value in batch.items():
                self.batch[name].copy_(value, non_blocking=True)
            for group in self.opt.param_groups:
                group["lr"].fill_(schedule(number))
            loss = run()
            for callback in self.callbacks:
                callback.on_step_end(self, loss)
            if self.stop:
                break
