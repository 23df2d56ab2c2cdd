"""Magnitude pruning between two phases of training replaces the weight of each layer by a product of weight
and mask, so the step is captured again after it."""

import torch
from torch import nn
from torch.nn.utils import prune


class Sparsifier:
    def __init__(self, net, amounts):
        self.layers = [m for m in net.modules() if isinstance(m, nn.Linear)]
        self.amounts = iter(amounts)

    def tighten(self):
        amount = next(self.amounts, None)
        if amount is None:
            return
        for layer in self.layers:
            prune.l1_unstructured(layer, "weight", amount=amount)


class Phase:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.graph = None

    def body(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.body()

    def run(self, loader):
        opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()
            opt.step()


def main(loader):
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()
    phase, sparsifier = Phase(net, (8, 16)), Sparsifier(net, (0.2, 0.4))
    phase.capture()
    for _ in range(3):
        phase.run(loader)
        sparsifier.tighten()
        phase.capture()
