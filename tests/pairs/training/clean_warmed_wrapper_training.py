"""Clean: a wrapper that counts eager calls before it captures, clones what it returns and copies every
leaf it is given; an optimizer whose rate is a tensor that the scheduler fills; gradients kept in place."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Warmed:
    def __init__(self, fn: Callable[..., tuple[torch.Tensor, ...]], warmup: int = 3):
        self.fn, self.warmup, self.calls = fn, warmup, 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def _eager(self, args):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            out = self.fn(*args)
        torch.cuda.current_stream().wait_stream(side)
        return out

    def __call__(self, *args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.calls += 1
        if self.calls <= self.warmup:
            return self._eager(args)
        if self.graph is None:
            self.args = [a.clone() for a in args]
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.fn(*self.args)
        for mine, given in zip(self.args, args):
            mine.copy_(given)
        self.graph.replay()
        return tuple(o.clone() for o in self.out)


class Rate:
    def __init__(self, start: float, decay: float):
        self.start, self.decay, self.epoch = start, decay, 0
        self.value = torch.full((), start, device="cuda")

    def step(self) -> None:
        self.epoch += 1
        self.value.fill_(self.start * self.decay**self.epoch)


class Momentum:
    def __init__(self, params, rate: Rate, momentum: float = 0.9):
        self.params, self.rate, self.momentum = list(params), rate, momentum
        self.velocity = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def apply(self) -> None:
        for p, v in zip(self.params, self.velocity):
            v.mul_(self.momentum).add_(p.grad)
            p.sub_(v * self.rate.value)
            p.grad.zero_()


class Learner:
    def __init__(self, net: nn.Module):
        self.net = net.cuda()
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)
        self.rate = Rate(0.1, 0.97)
        self.opt = Momentum(self.net.parameters(), self.rate)
        self.update = Warmed(self._update, warmup=11)
        self.best = float("inf")

    def _update(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.opt.apply()
        return (loss.detach(),)

    def fit(self, loader, epochs: int) -> float:
        for _ in range(epochs):
            losses = [self.update(x.cuda(), y.cuda())[0] for x, y in loader]
            self.best = min(self.best, torch.stack(losses).mean().item())
            self.rate.step()
        return self.best
