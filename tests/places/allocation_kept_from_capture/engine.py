"""Captures layers whose tables are cold or warm."""

import torch
from tables import Prepared, Rotary, mask, sizes, slopes


class Cold:
    def __init__(self, width: int):
        self.rotary = Rotary(width)
        self.prepared = Prepared(width)
        self.x = torch.zeros(width, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            hidden = self.prepared(self.rotary(self.x)) + mask(16)[0, 0]
            self.y = hidden + slopes(8)[0] + len(sizes(8))

    def step(self):
        self.graph.replay()
        return self.y.clone()


class Warm:
    def __init__(self, width: int):
        self.scratch = None
        self.buffers = {}
        self.x = torch.zeros(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        if self.scratch is None:
            self.scratch = torch.empty_like(self.x)  # ok: CG603
        if "sum" not in self.buffers:
            self.buffers["sum"] = torch.zeros((), device="cuda")  # ok: CG603
        self.last = self.x * 2  # ok: CG603
        return self.scratch.copy_(self.x) + self.buffers["sum"]

    def step(self):
        self.graph.replay()
        return self.y.clone()
