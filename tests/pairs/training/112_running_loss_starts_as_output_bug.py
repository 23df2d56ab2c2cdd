"""The running loss of an interval starts as the graph's own loss tensor, so that the first replay after it
overwrites what was meant to be kept. (Compare pytorch/torchtitan#4146.)"""

import torch
from torch import nn


class LossMeter:
    def __init__(self):
        self.total, self.count = None, 0

    def add(self, loss):
        if self.total is None:
            self.total = loss  # ALT: stale-output
        else:
            self.total = self.total + loss
        self.count += 1

    def flush(self):
        mean = (self.total / self.count).item()
        self.total, self.count = None, 0
        return mean


class GraphedStep:
    def __init__(self, net, opt, shape):
        self.net, self.opt = net, opt
        self.x = torch.zeros(shape, device="cuda")
        self.graph, self.loss = None, None

    def _body(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss.detach()

    def _record(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._body()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._body()

    def __call__(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self._record()
        self.graph.replay()
        return self.loss


def train(net, loader, log_every=20):
    step = GraphedStep(net, torch.optim.SGD(net.parameters(), lr=0.1), (8, 16))
    meter = LossMeter()
    for index, x in enumerate(loader, 1):
        meter.add(step(x))  # HAZARD: stale-output
        if index % log_every == 0:
            print(index, meter.flush())


def main(loader):
    train(nn.Linear(16, 16).cuda(), loader)
