"""Low-rank adapters that are switched under a captured layer."""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, width: int, rank: int):
        super().__init__()
        self.base = nn.Linear(width, width)
        self.down = nn.Parameter(torch.zeros(rank, width))
        self.up = nn.Parameter(torch.zeros(width, rank))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


class Server:
    def __init__(self, width: int):
        self.layer = Adapted(width, 8).cuda()
        self.layer.down.data = torch.ones(8, width, device="cuda")  # ok: CG102
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.layer(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def switch(self, adapter: dict[str, torch.Tensor]):
        self.layer.down.data = adapter["down"]  # expect: CG102
        self.layer.up = nn.Parameter(adapter["up"])  # expect: CG102

    def merge(self, delta: torch.Tensor):
        self.layer.base.weight.data.add_(delta)  # ok: CG102

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
