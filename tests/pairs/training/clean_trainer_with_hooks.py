"""Clean: a trainer whose captured step holds forward, backward and optimizer; schedules go through
device tensors, callbacks run after the replay, checkpoints copy out and in, evaluation is eager."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Settings:
    width: int = 128
    classes: int = 10
    batch: int = 64
    peak_rate: float = 1e-3
    total: int = 1000
    smoothing: float = 0.1
    log_every: int = 25


class Events:
    def __init__(self):
        self._handlers: dict[str, list[Callable]] = {}

    def on(self, name: str) -> Callable:
        def register(fn: Callable) -> Callable:
            self._handlers.setdefault(name, []).append(fn)
            return fn

        return register

    def fire(self, name: str, *args) -> None:
        for fn in self._handlers.get(name, ()):
            fn(*args)


class Schedule:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.rate = torch.tensor(0.0, device="cuda")
        self.step_number = 0

    def advance(self) -> None:
        self.step_number += 1
        done = min(1.0, self.step_number / self.settings.total)
        self.rate.fill_(0.5 * self.settings.peak_rate * (1 + math.cos(math.pi * done)))


class Trainer:
    def __init__(self, net: nn.Module, settings: Settings, events: Events):
        self.net, self.settings, self.events = net.cuda(), settings, events
        self.schedule = Schedule(settings)
        self.opt = torch.optim.Adam(net.parameters(), lr=self.schedule.rate, capturable=True)
        self.x = torch.zeros(settings.batch, settings.width, device="cuda")
        self.y = torch.zeros(settings.batch, dtype=torch.long, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None
        self.history: list[float] = []

    def _step(self) -> tuple[torch.Tensor, torch.Tensor]:
        self.opt.zero_grad(set_to_none=True)
        logits = self.net(self.x)
        loss = F.cross_entropy(logits, self.y, label_smoothing=self.settings.smoothing)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), 1.0, error_if_nonfinite=False)
        self.opt.step()
        return loss, norm

    def build(self) -> None:
        saved = {k: v.clone() for k, v in self.net.state_dict().items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.no_grad():
            for name, value in self.net.state_dict().items():
                value.copy_(saved[name])
            for state in self.opt.state.values():
                for tensor in state.values():
                    tensor.zero_()
        self.opt.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss, self.norm = self._step()

    def fit(self, loader) -> list[float]:
        if self.graph is None:
            self.build()
        for number, (x, y) in enumerate(loader):
            self.schedule.advance()
            self.x.copy_(x, non_blocking=True)
            self.y.copy_(y, non_blocking=True)
            self.graph.replay()
            if number % self.settings.log_every == 0:
                self.history.append(self.loss.item())
                self.events.fire("log", number, self.history[-1], self.norm.item())
        return self.history

    @torch.no_grad()
    def evaluate(self, loader) -> float:
        self.net.eval()
        right = sum((self.net(x.cuda()).argmax(-1) == y.cuda()).sum().item() for x, y in loader)
        self.net.train()
        return right / len(loader.dataset)

    def save(self, path: str) -> None:
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict()}, path)

    def restore(self, path: str) -> None:
        self.net.load_state_dict(torch.load(path)["net"])


def main(net: nn.Module, train_loader, test_loader) -> float:
    events = Events()

    @events.on("log")
    def show(number: int, loss: float, norm: float) -> None:
        print(f"{number:6d} loss {loss:.4f} norm {norm:.3f}")

    trainer = Trainer(net, Settings(), events)
    trainer.fit(train_loader)
    trainer.save("last.pt")
    return trainer.evaluate(test_loader)
