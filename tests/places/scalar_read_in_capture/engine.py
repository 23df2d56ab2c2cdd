"""Records one step of a model; what has to be read is read after the replay."""

import torch
from attention import Attention, Router


class Engine:
    def __init__(self, width: int):
        self.attention = Attention(width, 16).cuda()
        self.router = Router(width, 8).cuda()
        self.x = torch.zeros(64, width, device="cuda")
        self.lengths = torch.ones(64, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        with torch.cuda.graph(self.graph):
            self.out = self.forward()

    def forward(self):
        hidden = self.attention(self.x, self.lengths)
        return self.router(hidden)

    def step(self, x: torch.Tensor) -> float:
        self.x.copy_(x)
        self.graph.replay()
        return self.out[0].sum().item()  # ok: CG302


class Sampler:
    def __init__(self, vocabulary: int):
        self.logits = torch.zeros(vocabulary, device="cuda")
        self.temperature = torch.ones((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.sample()
        with torch.cuda.graph(self.graph):
            self.token = self.sample()

    def sample(self):
        scaled = self.logits / float(self.temperature)  # expect: CG302
        peak = scaled.max().item()  # graphlint: ignore[CG302] -- a debug build
        return torch.where(scaled >= peak, scaled, 0.0).argmax()  # ok: CG302
