"""A prefetcher copies the next batch into the static input on its own stream, and nothing orders that copy
before the replay."""

import torch
from torch import nn


class Prefetcher:
    def __init__(self, loader, static):
        self.batches = iter(loader)
        self.static = static
        self.stream = torch.cuda.Stream()

    def load(self):
        batch = next(self.batches, None)
        if batch is None:
            return False
        with torch.cuda.stream(self.stream):
            self.static.copy_(batch, non_blocking=True)  # ALT: stream-escape
        return True


class Loop:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def run(self, loader):
        opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        source = Prefetcher(loader, self.x)
        while source.load():
            self.graph.replay()  # HAZARD: stream-escape
            opt.step()


def main(loader):
    Loop(nn.Linear(8, 8).cuda(), (4, 8)).run(loader)
