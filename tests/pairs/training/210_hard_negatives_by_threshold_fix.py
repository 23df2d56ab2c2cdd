"""Drawn from metric learning losses that keep only the hard negatives.

Symptom: the mean is taken over the entries above a margin, chosen by a boolean mask whose number of
hits is known on the device only.
"""

import functools
from typing import ClassVar

import torch
from torch import nn


def mined(limit: float):
    def decorate(loss_fn):
        @functools.wraps(loss_fn)
        def wrapper(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            values = loss_fn(a, b)
            keep = values > limit
            return torch.where(keep, values, 0.0).sum() / keep.sum().clamp(min=1)

        return wrapper

    return decorate


@mined(limit=0.2)
def contrast(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    sim = nn.functional.normalize(a, dim=-1) @ nn.functional.normalize(b, dim=-1).T
    return (sim - sim.diagonal()[:, None] + 0.5).clamp_min(0).flatten()


class TowerTrainer:
    losses: ClassVar = {"contrast": contrast}

    def __init__(self, tower: nn.Module, width: int, loss: str = "contrast"):
        self.tower, self.loss_fn = tower.cuda(), self.losses[loss]
        self.left = torch.zeros(32, width, device="cuda")
        self.right = torch.zeros(32, width, device="cuda")
        self.opt = torch.optim.SGD(tower.parameters(), lr=0.1)

    def _loss(self) -> torch.Tensor:
        return self.loss_fn(self.tower(self.left), self.tower(self.right))

    def capture(self) -> None:
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._loss().backward()
        torch.cuda.current_stream().wait_stream(s)
        self.opt.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._loss()
            self.loss.backward()

    def step(self, left, right) -> None:
        self.left.copy_(left)
        self.right.copy_(right)
        self.graph.replay()
        self.opt.step()
