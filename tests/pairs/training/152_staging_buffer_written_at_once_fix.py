"""Batches go through one pinned buffer. The host writes the next batch into it while the copy of the last one may
still wait behind the replay."""

import torch
from torch import nn


class Feeder:
    def __init__(self, shape):
        self.host = torch.zeros(shape).pin_memory()
        self.copied = torch.cuda.Event()

    def feed(self, batch, static):
        self.copied.synchronize()
        self.host.copy_(batch)
        static.copy_(self.host, non_blocking=True)
        self.copied.record()


class Training:
    def __init__(self, net, shape):
        self.net, self.feeder = net, Feeder(shape)
        self.x = torch.zeros(shape, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self._step()

    def fit(self, loader):
        for batch in loader:
            self.feeder.feed(batch, self.x)
            self.graph.replay()


def main(loader):
    run = Training(nn.Linear(8, 8).cuda(), (4, 8))
    run.capture()
    run.fit(loader)
