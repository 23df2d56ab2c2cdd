"""A hand-written update multiplies with a rate that is a device tensor and is decayed in place."""

import torch
from torch import nn


class Momentum:
    def __init__(self, params, rate=0.1, mass=0.9):
        self.params = list(params)
        self.speed = [torch.zeros_like(p) for p in self.params]
        self.rate, self.mass = torch.tensor(rate, device="cuda"), mass

    @torch.no_grad()
    def step(self):
        for p, v in zip(self.params, self.speed, strict=False):
            v.mul_(self.mass).add_(p.grad)
            p.sub_(v * self.rate)

    def decay(self, factor=0.5):
        self.rate *= factor


class Loop:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.rule = Momentum(net.parameters())
        self.best = float("inf")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._iterate()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._iterate()

    def _iterate(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).abs().mean()
        loss.backward()
        self.rule.step()
        return loss

    def epoch(self, loader):
        total = 0.0
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()
            total += self.loss.item()
        if total > self.best:
            self.rule.decay()
        self.best = min(self.best, total)


def main(loader):
    loop = Loop(nn.Linear(4, 4).cuda(), (8, 4))
    for _ in range(10):
        loop.epoch(loader)
