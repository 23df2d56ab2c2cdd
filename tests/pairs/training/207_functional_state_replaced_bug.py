"""Drawn from functional training loops (torch.func with a state that is replaced in every step).

Symptom: a step computes new parameters and puts them into a new state. The captured loss was recorded
with the parameters of the first state.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from torch.func import functional_call


@dataclasses.dataclass(frozen=True)
class TrainState:
    params: dict[str, torch.Tensor]
    momentum: dict[str, torch.Tensor]

    def apply(self, grads: dict[str, torch.Tensor], lr: float, beta: float) -> TrainState:
        momentum = {n: beta * m + grads[n] for n, m in self.momentum.items()}
        params = {n: p - lr * momentum[n] for n, p in self.params.items()}
        return dataclasses.replace(self, params=params, momentum=momentum)


class FunctionalTrainer:
    def __init__(self, net: nn.Module, width: int, lr: float = 0.1, beta: float = 0.9):
        self.net, self.lr, self.beta = net.cuda(), lr, beta
        params = {n: p.detach().clone() for n, p in net.named_parameters()}
        self.state = TrainState(params, {n: torch.zeros_like(p) for n, p in params.items()})
        self.x = torch.zeros(16, width, device="cuda")
        self.y = torch.zeros(16, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _gradients(self) -> dict[str, torch.Tensor]:
        params = {n: p.requires_grad_() for n, p in self.state.params.items()}
        out = functional_call(self.net, params, (self.x,))
        loss = (out - self.y).square().mean()
        return dict(zip(params, torch.autograd.grad(loss, list(params.values()))))

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._gradients()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.grads = self._gradients()

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        with torch.no_grad():
            self.state = self.state.apply(self.grads, self.lr, self.beta)  # HAZARD: rebind-static-input
