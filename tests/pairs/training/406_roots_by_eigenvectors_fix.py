"""Drawn from Shampoo-like optimizers whose update is captured with the step.

Fix: the inverse root comes from a fixed number of Newton iterations, which are only matrix products.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.optim import Optimizer


def inverse_root(matrix: torch.Tensor, order: int, eps: float = 1e-6) -> torch.Tensor:
    eye = torch.eye(matrix.shape[0], device=matrix.device)
    scale = (order + 1) / (2 * matrix.norm())
    m, x = matrix * scale + eps * eye, eye * scale.pow(1.0 / order)
    for _ in range(20):
        t = ((order + 1) * eye - m) / order
        x = x @ t
        m = torch.linalg.matrix_power(t, order) @ m
    return x


class Kron(Optimizer):
    """Two factors for each matrix, momentum for everything else; all state is made at the start."""

    def __init__(self, params, lr: float, beta: float = 0.95) -> None:
        super().__init__(params, {"lr": lr, "beta": beta})
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["momentum"] = torch.zeros_like(p)
                if p.ndim == 2:
                    state["left"] = torch.eye(p.shape[0], device=p.device)
                    state["right"] = torch.eye(p.shape[1], device=p.device)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state, beta = self.state[p], group["beta"]
                update = p.grad
                if p.ndim == 2:
                    state["left"].lerp_(update @ update.mT, 1 - beta)
                    state["right"].lerp_(update.mT @ update, 1 - beta)
                    update = inverse_root(state["left"], 4) @ update @ inverse_root(state["right"], 4)
                state["momentum"].mul_(0.9).add_(update)
                p.add_(state["momentum"], alpha=-group["lr"])


def build(width: int) -> nn.Sequential:
    layers = [nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1)]
    net = nn.Sequential(*layers)
    for layer in layers[::2]:
        nn.init.normal_(layer.weight, std=1 / math.sqrt(width))
    return net.cuda()


class Regression:
    def __init__(self, width: int, batch: int) -> None:
        self.net = build(width)
        self.opt = Kron(self.net.parameters(), lr=1e-3)
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, 1, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _update(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.huber_loss(self.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self) -> None:
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.loss = self._update()

    def fit(self, loader) -> float:
        self.capture()
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
        return self.loss.item()
