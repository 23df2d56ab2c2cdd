"""Captures the layers, with copies on a stream of their own."""

import torch
from towers import Overlapped, TwoTowers, on_current, on_default


class Prefetcher:
    def __init__(self, width: int):
        self.copies = torch.cuda.Stream()
        self.host = torch.zeros(width, pin_memory=True)
        self.device = torch.zeros(width, device="cuda")

    def fetch(self):
        with torch.cuda.stream(self.copies):  # expect: CG501
            self.device.copy_(self.host, non_blocking=True)

    def fetch_in_order(self):
        self.copies.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copies):  # ok: CG501
            self.device.copy_(self.host, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.copies)


class Engine:
    def __init__(self, width: int):
        self.towers = TwoTowers(width).cuda()
        self.overlapped = Overlapped(width).cuda()
        self.prefetcher = Prefetcher(width)
        self.ordered = Prefetcher(width)
        self.main = torch.cuda.current_stream()
        self.debug = torch.cuda.Stream()
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        self.prefetcher.fetch()
        self.ordered.fetch_in_order()
        out = self.towers(self.x) + self.overlapped(self.x)
        with torch.cuda.stream(self.main):  # expect: CG501
            out = out + self.prefetcher.device
        with torch.cuda.stream(self.debug):  # graphlint: ignore[CG501] -- the copy may be lost
            self.copied = out + 1
        return on_current(out)

    def step(self, x):
        with torch.cuda.stream(self.debug):  # ok: CG501
            self.x.copy_(x)
        torch.cuda.current_stream().wait_stream(self.debug)
        self.graph.replay()
        return self.y.clone()


class Doubler:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = on_default(self.x)

    def step(self, x):
        with torch.cuda.stream(torch.cuda.default_stream()):  # ok: CG501
            self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
