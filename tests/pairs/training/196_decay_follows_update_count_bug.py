"""Drawn from averaged weights as in timm and diffusers (a decay that grows with the updates).

Symptom: the average is updated inside the captured step with a decay computed from a Python count;
the graph keeps the small decay of the beginning and the average never gets smooth.
"""

import copy

import torch
from torch import nn


class Callback:
    def on_update(self, trainer: "Trainer") -> None: ...

    def on_epoch(self, trainer: "Trainer") -> None: ...


class AverageMixin:
    limit = 0.9999

    def init_average(self, net: nn.Module) -> None:
        self.average = copy.deepcopy(net)
        self.updates = 0

    def decay(self) -> float:
        return min(self.limit, (1 + self.updates) / (10 + self.updates))  # ALT: frozen-scalar

    @torch.no_grad()
    def update_average(self, net: nn.Module) -> None:
        d = self.decay()
        self.updates += 1  # ALT: frozen-scalar, side-effect
        for mine, theirs in zip(self.average.parameters(), net.parameters()):
            mine.mul_(d).add_(theirs * (1 - d))  # HAZARD: frozen-scalar


class AverageCallback(AverageMixin, Callback):
    def __init__(self, net: nn.Module):
        self.init_average(net)

    def on_update(self, trainer: "Trainer") -> None:
        self.update_average(trainer.net)


class Trainer:
    def __init__(self, net: nn.Module, width: int):
        self.net = net.cuda()
        self.average = AverageCallback(self.net)
        self.callbacks: list[Callback] = [self.average]
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
        self.x = torch.zeros(16, width, device="cuda")
        self.y = torch.zeros(16, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _update(self) -> torch.Tensor:
        self.opt.zero_grad()
        loss = (self.net(self.x) - self.y).square().mean()
        loss.backward()
        self.opt.step()
        for callback in self.callbacks:
            callback.on_update(self)
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._update()

    def fit(self, loader) -> None:
        self.capture()
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
