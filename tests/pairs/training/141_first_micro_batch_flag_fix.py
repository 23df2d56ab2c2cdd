"""Low-precision weights are made anew for the first micro batch of a step. Whether this is the first one is a
Python flag of the captured forward, so that the weights of the capture stay. (Compare
NVIDIA/TransformerEngine#869.)"""

import torch
from torch import nn


class CachedLinear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) * 0.02)
        self.register_buffer("packed", torch.zeros(width, width, dtype=torch.bfloat16))

    def forward(self, x, is_first):
        if is_first:
            self.packed.copy_(self.weight.detach())
        weight = self.packed.to(x.dtype) + (self.weight - self.weight.detach())
        return x @ weight.T


class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(CachedLinear(width) for _ in range(depth))

    def forward(self, x, is_first=True):
        for layer in self.layers:
            x = torch.tanh(layer(x, is_first=is_first))
        return x


class MicroBatches:
    def __init__(self, net, shape, count):
        self.net, self.count = net, count
        self.x = torch.zeros(shape, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graphs = {}

    def _one(self, is_first):
        loss = self.net(self.x, is_first=is_first).square().mean() / self.count
        loss.backward()
        return loss

    def _record(self, is_first):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net.zero_grad(set_to_none=False)
                self._one(is_first)
        torch.cuda.current_stream().wait_stream(side)
        self.net.zero_grad(set_to_none=False)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._one(is_first)
        self.graphs[is_first] = graph

    def step(self, batches):
        for index, x in enumerate(batches):
            self.x.copy_(x)
            is_first = index == 0
            if is_first not in self.graphs:
                self._record(is_first)
            self.graphs[is_first].replay()
        self.opt.step()
        self.net.zero_grad(set_to_none=False)


def main(loader):
    run = MicroBatches(Stack(32, 2).cuda(), (8, 32), 4)
    for batches in loader:
        run.step(batches)
