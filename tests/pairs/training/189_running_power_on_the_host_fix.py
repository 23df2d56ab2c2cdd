"""A hand-written Adam keeps its running products of the decay rates as tensors on the host. They are advanced in the
captured step, which is done once, and the corrections stay."""

import torch
from torch import nn


class HandAdam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999)):
        self.params, self.lr, self.betas = list(params), lr, betas
        self.first = [torch.zeros_like(p) for p in self.params]
        self.second = [torch.zeros_like(p) for p in self.params]
        self.powers = [torch.ones((), device="cuda"), torch.ones((), device="cuda")]

    @torch.no_grad()
    def step(self):
        for power, beta in zip(self.powers, self.betas, strict=True):
            power.mul_(beta)
        for p, m, v in zip(self.params, self.first, self.second, strict=True):
            m.lerp_(p.grad, 1.0 - self.betas[0])
            v.lerp_(p.grad.square(), 1.0 - self.betas[1])
            rate = self.lr / (1.0 - self.powers[0])
            p.sub_(rate * m / ((v / (1.0 - self.powers[1])).sqrt() + 1e-8))


class Run:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        self.opt = HandAdam(net.parameters())

    def body(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.body()

    def fit(self, loader):
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()


def main(loader):
    run = Run(nn.Linear(8, 8).cuda(), (4, 8))
    run.capture()
    run.fit(loader)
