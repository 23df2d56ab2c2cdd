"""Source: pytorch/pytorch#167885 (inputs of a graph must stay alive) and pytorch/pytorch#161583.

Fixed: the table belongs to the object that owns the graph.
"""

import torch
from torch import nn


class LevelSampler:
    def __init__(self, net: nn.Module, n, d):
        self.net = net.cuda()
        self.x = torch.zeros(n, d, device="cuda")
        self.sigma = torch.ones(n, 1, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _denoise(self, table):
        self.sigma.copy_(table, non_blocking=True)
        noisy = self.x + self.sigma * torch.randn_like(self.x)
        return (self.net(noisy) - self.x).square().mean(-1)

    @torch.no_grad()
    def record(self, low=0.02, high=80.0):
        n = self.x.shape[0]
        self.table = torch.exp(torch.linspace(low, high, n).log())[:, None].pin_memory()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._denoise(self.table)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.errors = self._denoise(self.table)

    def __call__(self, x):
        self.x.copy_(x, non_blocking=True)
        self.graph.replay()
        return self.errors.clone()


def evaluate(net, loader, d):
    sampler = LevelSampler(net, 128, d)
    sampler.record()
    total = torch.zeros(128, device="cuda")
    for x in loader:
        total += sampler(x.pin_memory())
    return total.cpu()
