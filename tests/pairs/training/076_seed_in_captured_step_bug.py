"""Each captured step seeds the device generator with a number made from its own count."""

import torch
from torch import nn


class SeededDropout:
    def __init__(self, net, shape, seed):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.seed, self.count = seed, 0
        self.graph = torch.cuda.CUDAGraph()

    def forward_backward(self):
        torch.cuda.manual_seed(self.seed + self.count)  # HAZARD: rng-unregistered
        self.net.zero_grad(set_to_none=True)
        h = nn.functional.dropout(self.net(self.x), 0.2)
        loss = h.square().mean()
        loss.backward()
        return loss

    def prepare(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.forward_backward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.forward_backward()

    def step(self, x):
        self.count += 1
        self.x.copy_(x)
        self.graph.replay()


def main(loader):
    model = SeededDropout(nn.Linear(8, 8).cuda(), (4, 8), 17)
    model.prepare()
    for x in loader:
        model.step(x)
