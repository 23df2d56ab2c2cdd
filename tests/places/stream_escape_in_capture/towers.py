"""Layers whose parts overlap on streams of their own."""

import torch
from torch import nn


class TwoTowers(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.left = nn.Linear(width, width)
        self.right = nn.Linear(width, width)
        self.side = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.side):  # expect: CG501
            right = self.right(x)
        left = self.left(x)
        torch.cuda.current_stream().wait_stream(self.side)
        return left + right


class Overlapped(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.shared = nn.Linear(width, width)
        self.experts = nn.Linear(width, width)
        self.side = torch.cuda.Stream()
        self.ready = torch.cuda.Event()
        self.done = torch.cuda.Event()

    def forward(self, x):
        self.ready.record()
        with torch.cuda.stream(self.side):  # ok: CG501
            self.side.wait_event(self.ready)
            shared = self.shared(x)
            self.done.record()
        out = self.experts(x)
        self.done.wait()
        return out + shared


def on_default(x: torch.Tensor) -> torch.Tensor:
    with torch.cuda.stream(torch.cuda.default_stream()):  # expect: CG501
        return x * 2


def on_current(x: torch.Tensor) -> torch.Tensor:
    with torch.cuda.stream(torch.cuda.current_stream()):  # ok: CG501
        return x * 2
