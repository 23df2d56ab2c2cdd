"""The captured step adds its loss to a running sum that starts each epoch as the number 0. The addition makes a new
tensor once, at the capture, and every later epoch ends with the number."""

import torch
from torch import nn


class Sums:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")
        self.start()

    def start(self):
        self.total.zero_()
        self.count = 0

    def add(self, value):
        self.total.add_(value.detach())

    def mean(self):
        return float(self.total) / max(self.count, 1)


class Epochs:
    def __init__(self, net, shape):
        self.net, self.x, self.sums = net, torch.zeros(shape, device="cuda"), Sums()
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        self.sums.add(loss)

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._step()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.sums.start()
            for x in loader:
                self.x.copy_(x)
                self.graph.replay()
                self.sums.count += 1
            print(epoch, self.sums.mean())


def main(loader):
    run = Epochs(nn.Linear(8, 8).cuda(), (4, 8))
    run.capture()
    run.fit(loader, 10)
