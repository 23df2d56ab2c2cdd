"""Gradients come from a graph. The loop of the base class ends each step with `zero_grad()`, which sets them to
None, and from the second step on the optimizer finds nothing."""

import torch
from torch import nn


class Loop:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def compute(self, x):
        loss = self.net(x).square().mean()
        loss.backward()
        return loss

    def step(self, x):
        loss = self.compute(x)
        self.optimizer.step()
        self.optimizer.zero_grad()  # HAZARD: stale-pointer
        return loss

    def run(self, loader):
        total = 0.0
        for x in loader:
            total += self.step(x).item()
        return total


class GraphedLoop(Loop):
    def __init__(self, net, optimizer, shape):
        super().__init__(net, optimizer)
        self.x = torch.zeros(shape, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net.zero_grad(set_to_none=True)
                super().compute(self.x)
        torch.cuda.current_stream().wait_stream(side)
        self.net.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = super().compute(self.x)

    def compute(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.loss


def main(loader):
    net = nn.Linear(8, 8).cuda()
    return GraphedLoop(net, torch.optim.SGD(net.parameters(), lr=0.1), (4, 8)).run(loader)
