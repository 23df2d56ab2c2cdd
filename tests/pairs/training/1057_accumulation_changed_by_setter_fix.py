"""Source: gradient accumulation that grows during training, in a trainer with a captured micro-batch.

Fixed: the divisor is a device scalar, filled by the setter.
"""

import torch
from torch import nn


class Accumulator:
    def __init__(self, count):
        self._count = count
        self.divisor = torch.full((), float(count), device="cuda")

    @property
    def count(self):
        return self._count

    @count.setter
    def count(self, value):
        if value < 1:
            raise ValueError("at least one micro-batch")
        self._count = value
        self.divisor.fill_(value)

    def scale(self, loss):
        return loss / self.divisor


class Trainer:
    def __init__(self, net: nn.Module, x, y, count=4):
        self.net, self.acc = net.cuda(), Accumulator(count)
        self.x, self.y = x.cuda(), y.cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)

    def micro(self):
        loss = self.acc.scale(nn.functional.cross_entropy(self.net(self.x), self.y))
        loss.backward()
        return loss

    def prepare(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.micro()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.micro()
        self.opt.zero_grad(set_to_none=False)

    def epoch(self, loader):
        for i, (x, y) in enumerate(loader, 1):
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
            if i % self.acc.count == 0:
                self.opt.step()
                self.opt.zero_grad(set_to_none=False)

    def fit(self, loader, epochs):
        self.prepare()
        for epoch in range(epochs):
            if epoch and epoch % 10 == 0:
                self.acc.count = self.acc.count * 2
            self.epoch(loader)
