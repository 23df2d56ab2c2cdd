"""For validation the callback swaps `.data` of weights and averages, and swaps back; in between the graph of the
validation step reads the weights that it was captured with."""

import torch
from torch import nn


class SwapAverages:
    def __init__(self, net):
        self.net = net
        self.average = [p.detach().clone() for p in net.parameters()]

    @torch.no_grad()
    def update(self, decay=0.99):
        for slow, p in zip(self.average, self.net.parameters(), strict=True):
            slow.lerp_(p, 1.0 - decay)

    def swap(self):
        for slow, p in zip(self.average, self.net.parameters(), strict=True):
            p.data, slow.data = slow.data, p.data  # HAZARD: stale-pointer


class Validation:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            self._record()

    def _record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net(self.x)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def __call__(self, batches):
        total = 0.0
        for x in batches:
            self.x.copy_(x)
            self.graph.replay()
            total += self.y.mean().item()
        return total


def main(train, loader, held_out):
    net = nn.Linear(8, 8).cuda()
    validate, averages = Validation(net, (4, 8)), SwapAverages(net)
    for x in loader:
        train(net, x)
        averages.update()
        averages.swap()
        print(validate(held_out))
        averages.swap()
