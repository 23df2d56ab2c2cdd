"""Records the layers; what the host gives arrives before the replay."""

import torch
from layers import Embedder, Penalty


class Engine:
    def __init__(self, vocabulary: int, width: int):
        self.embedder = Embedder(vocabulary, width).cuda()
        self.penalty = Penalty([1, 2]).cuda()
        self.tokens = torch.zeros(16, dtype=torch.long, device="cuda")
        self.temperature = torch.tensor(1.0, device="cuda")  # ok: CG306
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        with torch.cuda.graph(self.graph):
            self.out = self.forward()

    def forward(self):
        embedded, special, shifted = self.embedder(self.tokens)
        return self.penalty(embedded / self.temperature), special, shifted

    def step(self, tokens: list[int], temperature: float):
        self.tokens.copy_(torch.tensor(tokens))  # ok: CG306
        self.temperature.fill_(temperature)
        self.graph.replay()
        return self.out[0].clone()
