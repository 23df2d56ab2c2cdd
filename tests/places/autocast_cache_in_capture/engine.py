"""Engines in mixed precision."""

import torch
from precision import mixed, mixed_without_cache
from torch import nn


class Engine:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.graph, self.other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with mixed():
            self.net(self.x)
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)
        with mixed_without_cache(), torch.cuda.graph(self.other):
            self.z = self.net(self.x)

    def step(self):
        self.graph.replay()
        self.other.replay()
        return self.y + self.z


class Inside:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        with torch.autocast("cuda", dtype=torch.float16):  # ok: CG801
            return self.net(self.x)

    def step(self):
        self.graph.replay()
        with torch.autocast("cuda"):  # ok: CG801
            return self.net(self.y.float())
