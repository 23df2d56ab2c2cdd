"""Decoding steps that read where each sequence begins."""

import torch
from layout import Layout


class Decoder:
    """The layout is planned by captured code."""

    def __init__(self, most: int):
        self.layout = Layout(most)
        self.tokens = torch.zeros(most, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.layout.plan()
            self.layout.upload()
            self.y = self.tokens + self.layout.device_starts

    def step(self, tokens: torch.Tensor, lengths: torch.Tensor):
        self.tokens.copy_(tokens)
        self.layout.lengths.copy_(lengths)
        self.graph.replay()
        return self.y.clone()


class PlannedDecoder:
    """The layout is planned before each replay."""

    def __init__(self, most: int):
        self.layout = Layout(most)
        self.tokens = torch.zeros(most, device="cuda")
        self.layout.plan_early()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.layout.plan_early()
            self.layout.upload()
            self.y = self.tokens + self.layout.device_starts

    def step(self, tokens: torch.Tensor, lengths: torch.Tensor):
        self.tokens.copy_(tokens)
        self.layout.lengths.copy_(lengths)
        self.layout.plan_early()
        self.graph.replay()
        y = self.y.clone()
        torch.cuda.current_stream().synchronize()
        return y


class FixedDecoder:
    """All sequences have one length, for ever."""

    def __init__(self, most: int):
        self.lengths = torch.full((most,), 16)
        self.starts = torch.zeros(most, dtype=torch.int64, pin_memory=True)
        self.tokens = torch.zeros(most, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.starts.copy_(self.lengths * 2)  # ok: CG407
            self.y = self.tokens + self.starts.to("cuda", non_blocking=True)

    def step(self, tokens: torch.Tensor):
        self.tokens.copy_(tokens)
        self.graph.replay()
        return self.y.clone()
