"""Only the loss is captured, and the autocast context of the trainer encloses warm-up and capture, without
a cache."""

import contextlib

import torch
from torch import nn


class Precision:
    def __init__(self, kind):
        self.kind = kind

    def context(self):
        if self.kind == "bf16":
            return torch.autocast(device_type="cuda", dtype=torch.bfloat16, cache_enabled=False)
        return contextlib.nullcontext()


class Strategy:
    def __init__(self, net, shape, precision):
        self.net, self.precision = net, precision
        self.x = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def closure(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).float().square().mean()
        loss.backward()
        return loss

    def setup(self):
        with self.precision.context():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.closure()
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(self.graph):
                self.loss = self.closure()


def main():
    strategy = Strategy(nn.Linear(32, 32).cuda(), (8, 32), Precision("bf16"))
    strategy.setup()
    return strategy
