"""Decodes step by step, each step one replay of a graph."""

import torch

from batch import Batch
from model import Decoder


class Engine:
    def __init__(self, size: int):
        self.model = Decoder(layers=2, size=64, words=1000).cuda()
        self.batch = Batch(size)
        self.cache = torch.zeros(size, 128, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run_model(self) -> torch.Tensor:
        return self.model(self.batch.tokens, self.cache, self.batch.lengths)

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.run_model()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.logits = self.run_model()

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        self.batch.advance(tokens)
        self.graph.replay()
        return self.logits


def generate(tokens: torch.Tensor, steps: int) -> torch.Tensor:
    engine = Engine(tokens.shape[0])
    engine.capture()
    history = []
    for _ in range(steps):
        logits = engine.step(tokens)
        history.append(logits)
        tokens = logits.argmax(dim=-1)
    return torch.stack(history)
