"""Batch norm with `momentum=None` averages over all batches. Its forward turns the number of batches, a
buffer on the device, into a Python float."""

import torch
from torch import nn


def block(width, momentum=0.1):
    return nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width, momentum=momentum), nn.ReLU())


class Encoder(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(block(width) for _ in range(depth))

    def forward(self, x):
        for each in self.blocks:
            x = x + each(x)
        return x


class Graphed:
    def __init__(self, net, batch, width):
        self.net = net
        self.x = torch.zeros(batch, width, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def _work(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._work()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._work()


def main():
    run = Graphed(Encoder(32, 3).cuda().train(), 64, 32)
    run.record()
    return run
