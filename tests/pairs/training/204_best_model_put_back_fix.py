"""Drawn from early stopping callbacks (the best weights are kept as a deep copy of the model).

Symptom: when training stops improving, the trainer's model is replaced by the copy. The captured step
goes on with the parameters of the old one, and the optimizer as well.
"""

from __future__ import annotations

import copy
from typing import Protocol

import torch
from torch import nn


class Callback(Protocol):
    def after_epoch(self, trainer: GraphTrainer, loss: float) -> None: ...


class RestoreBest:
    def __init__(self, patience: int = 3):
        self.patience, self.bad = patience, 0
        self.best_loss = float("inf")
        self.best: nn.Module | None = None

    def after_epoch(self, trainer: GraphTrainer, loss: float) -> None:
        if loss < self.best_loss:
            self.best_loss, self.bad = loss, 0
            self.best = copy.deepcopy(trainer.net)
            return
        self.bad += 1
        if self.bad >= self.patience and self.best is not None:
            trainer.net.load_state_dict(self.best.state_dict())
            self.bad = 0


class PrintLoss:
    def after_epoch(self, trainer: GraphTrainer, loss: float) -> None:
        print(f"{trainer.epoch}: {loss:.4f}")


class GraphTrainer:
    def __init__(self, net: nn.Module, width: int, callbacks: list[Callback]):
        self.net, self.callbacks, self.epoch = net.cuda(), callbacks, 0
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)
        self.x = torch.zeros(32, width, device="cuda")
        self.y = torch.zeros(32, width, device="cuda")
        self.total = torch.zeros((), device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        loss = (self.net(self.x) - self.y).square().mean()
        loss.backward()
        self.opt.step()
        self.total += loss.detach()

    def build(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._step()

    def fit(self, loader, epochs: int) -> None:
        self.build()
        for self.epoch in range(epochs):
            self.total.zero_()
            for x, y in loader:
                self.x.copy_(x)
                self.y.copy_(y)
                self.graph.replay()
            loss = self.total.item() / len(loader)
            for callback in self.callbacks:
                callback.after_epoch(self, loss)


def main(net: nn.Module, loader) -> nn.Module:
    trainer = GraphTrainer(net, 16, [RestoreBest(), PrintLoss()])
    trainer.fit(loader, 50)
    return trainer.net
