"""Clean: each phase of training sets criterion, trainable parameters and clip value first and drops the graph;
the next step captures anew. Hooks belong to an eager validation copy."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Phase:
    criterion: Callable
    trunk: bool
    clip: float
    epochs: int


def l1(pred, target):
    return (pred - target).abs().mean()


def l2(pred, target):
    return (pred - target).square().mean()


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk, self.head = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.head(torch.relu(self.trunk(x)))


class Phased:
    def __init__(self, net, batch, width):
        self.net = net
        self.x, self.y = torch.zeros(batch, width, device="cuda"), torch.zeros(batch, 1, device="cuda")
        self.phase = self.opt = self.graph = None

    def enter(self, phase):
        self.phase = phase
        self.net.trunk.requires_grad_(phase.trunk)
        trained = [p for p in self.net.parameters() if p.requires_grad]
        self.opt = torch.optim.Adam(trained, lr=1e-3, capturable=True)
        self.graph = None

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.phase.criterion(self.net(self.x), self.y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.phase.clip)
        self.opt.step()
        return loss.detach()

    def _capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def fit(self, phases, loader):
        report = []
        for phase in phases:
            self.enter(phase)
            total, count = torch.zeros((), device="cuda"), 0
            for _ in range(phase.epochs):
                for x, y in loader:
                    self.x.copy_(x)
                    self.y.copy_(y)
                    if self.graph is None:
                        self._capture()
                    self.graph.replay()
                    total.add_(self.loss)
                    count += 1
            report.append(total.item() / max(count, 1))
        return report


def main(loader):
    phases = [Phase(l2, True, 1.0, 3), Phase(l1, False, 0.1, 2)]
    return Phased(Net(16).cuda(), 32, 16).fit(phases, loader)
