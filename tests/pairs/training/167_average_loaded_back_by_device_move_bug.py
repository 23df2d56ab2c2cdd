"""Between epochs the weights are parked on the host to make room for an evaluation model. Coming back they have
new memory, and the graph trains what was there before."""

import torch
from torch import nn


class Parked:
    def __init__(self, module, where="cpu"):
        self.module, self.where = module, where

    def __enter__(self):
        self.module.to(self.where)  # ALT: stale-pointer
        torch.cuda.empty_cache()
        return self.module

    def __exit__(self, *exc):
        self.module.to("cuda")  # HAZARD: stale-pointer
        return False


class Captured:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        for p in self.net.parameters():
            p.grad = None
        loss = self.net(self.x).square().mean()
        loss.backward()
        with torch.no_grad():
            for p in self.net.parameters():
                p.sub_(p.grad, alpha=0.1)
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def epoch(self, loader):
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()


def main(loader, judge, epochs):
    run = Captured(nn.Linear(64, 64).cuda(), (8, 64))
    run.capture()
    for _ in range(epochs):
        run.epoch(loader)
        with Parked(run.net):
            judge()
