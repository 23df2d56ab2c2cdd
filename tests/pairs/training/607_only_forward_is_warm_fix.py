"""Drawn from reports of captures that fail in the backward pass although "everything was warmed up".

Fix: the warm-up runs whole training steps.
"""

from __future__ import annotations

import torch
from torch import nn


class TextClassifier(nn.Module):
    def __init__(self, vocab: int, width: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, width, mode="mean")
        self.hidden = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.hidden(self.embed(tokens))))


class StepGraph:
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, tokens: torch.Tensor) -> None:
        self.model, self.optimizer = model, optimizer
        self.tokens = tokens
        self.labels = torch.zeros(tokens.shape[0], dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _train(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.model(self.tokens), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def _warm(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._train()
        torch.cuda.current_stream().wait_stream(side)

    def capture(self) -> None:
        self._warm()
        with torch.cuda.graph(self.graph):
            self.loss = self._train()

    def __call__(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        self.tokens.copy_(tokens)
        self.labels.copy_(labels)
        self.graph.replay()
        return self.loss.clone()


def main(loader, vocab: int = 30_000, length: int = 64, batch: int = 256) -> None:
    model = TextClassifier(vocab, 128, 5).cuda()
    optimizer = torch.optim.Adamax(model.parameters(), lr=2e-3, capturable=True)
    step = StepGraph(model, optimizer, torch.zeros(batch, length, dtype=torch.long, device="cuda"))
    step.capture()
    for number, (tokens, labels) in enumerate(loader):
        loss = step(tokens, labels)
        if number % 200 == 0:
            print(number, loss.item())
