"""Drawn from adaptive clipping (the limit follows a history of norms).

Symptom: the limit is the median of a Python list of norms; a norm is appended in the captured step as a
number, which reads it from the device.
"""

import statistics
from collections import deque

import torch
from torch import nn


class AdaptiveClip:
    def __init__(self, params, length: int = 100, factor: float = 2.0):
        self.params, self.factor = list(params), factor
        self.history: deque = deque(maxlen=length)

    def __call__(self) -> None:
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        self.history.append(norm.item())  # HAZARD: sync-in-capture
        limit = self.factor * statistics.median(self.history)
        scale = (limit / (norm + 1e-6)).clamp(max=1.0)
        for p in self.params:
            p.grad.mul_(scale)


class Loop:
    def __init__(self, net: nn.Module, width: int):
        self.net = net.cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.clip = AdaptiveClip(self.net.parameters())
        self.x = torch.zeros(8, width, device="cuda")

    def _step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        self.net(self.x).square().mean().backward()
        self.clip()
        self.opt.step()

    def run(self, loader) -> None:
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(s)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        for x in loader:
            self.x.copy_(x)
            graph.replay()
