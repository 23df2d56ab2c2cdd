"""A transformer block with offloaded weights, and its engine."""

import torch
from timing import GpuBarrier, Timer
from torch import nn


class Offloaded(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.host = torch.zeros(width, width, pin_memory=True)
        self.weight = torch.zeros(width, width, device="cuda")
        self.copies = torch.cuda.Stream()

    def forward(self, x):
        self.copies.wait_stream(torch.cuda.current_stream())  # ok: CG301
        with torch.cuda.stream(self.copies):
            self.weight.copy_(self.host, non_blocking=True)  # ok: CG301
        torch.cuda.current_stream().wait_stream(self.copies)
        return x @ self.weight


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = nn.Linear(width, width)
        self.experts = Offloaded(width)
        self.done = torch.cuda.Event()
        self.barrier = GpuBarrier()
        self.scales = torch.ones(width, pin_memory=True)
        self.debug = False

    def forward(self, x):
        with Timer():
            x = self.attention(x)
        self.done.record()
        self.ready = self.done.query()  # expect: CG301
        x = self.experts(x)
        self.barrier()
        if self.debug:
            torch.cuda.synchronize()  # ok: CG301
        return x * self.scales.to("cuda")  # expect: CG301


class Engine:
    def __init__(self, width: int):
        self.block = Block(width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.block(self.x)
        torch.cuda.synchronize()  # ok: CG301
        with torch.cuda.graph(self.graph):
            self.y = self.block(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        torch.cuda.current_stream().synchronize()  # ok: CG301
        return self.y.cpu()
