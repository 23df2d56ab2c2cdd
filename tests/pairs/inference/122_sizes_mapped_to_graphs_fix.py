"""Fixed form: the largest size is captured first."""

from functools import partial

import torch
import torch.nn as nn


def capture_size(net: nn.Module, x: torch.Tensor, pool, size: int):
    part = x[:size]
    for _ in range(2):
        net(part)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        y = net(part)
    return graph, y


class MappedRunner:
    def __init__(self, net: nn.Module, width: int, largest: int):
        self.net = net.cuda().eval()
        self.sizes = [2**i for i in range(largest.bit_length())]
        self.x = torch.zeros(self.sizes[-1], width, device="cuda")
        pool = torch.cuda.graph_pool_handle()
        make = partial(capture_size, self.net, self.x, pool)
        with torch.inference_mode():
            self.graphs = dict(zip(reversed(self.sizes), map(make, reversed(self.sizes))))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        size = next(s for s in self.sizes if s >= n)
        graph, y = self.graphs[size]
        self.x[:n].copy_(x)
        self.x[n:size].zero_()
        graph.replay()
        return y[:n].clone()
