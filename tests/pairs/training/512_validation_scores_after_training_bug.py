"""Drawn from trainers whose validation graph was given the pool of the training graph to save memory.

Symptom: validation scores are nonsense now and then: the scores of the last validation pass are read after more
training steps, whose replays use the same memory.
"""

from __future__ import annotations

import torch
from torch import nn


def on_side_stream(function, times: int) -> None:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(times):
            function()
    torch.cuda.current_stream().wait_stream(side)


class Matcher(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.left = nn.Linear(width, 128)
        self.right = nn.Linear(width, 128)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (self.left(a) * self.right(b)).sum(-1)


class MatchTrainer:
    def __init__(self, width: int, batch: int) -> None:
        self.model = Matcher(width).cuda()
        self.opt = torch.optim.Adagrad(self.model.parameters(), lr=0.05)
        self.a = torch.zeros(batch, width, device="cuda")
        self.b = torch.zeros(batch, width, device="cuda")
        self.target = torch.zeros(batch, device="cuda")
        self._capture()

    def _gradients(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(self.a, self.b), self.target)
        loss.backward()
        return loss

    @torch.no_grad()
    def _scores(self) -> torch.Tensor:
        return torch.sigmoid(self.model(self.a, self.b))

    def _capture(self) -> None:
        on_side_stream(self._gradients, 3)
        on_side_stream(self._scores, 2)
        self.train_graph, self.val_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.train_graph):
            self.loss = self._gradients()
        with torch.cuda.graph(self.val_graph, pool=self.train_graph.pool()):
            self.scores = self._scores()

    def train_step(self, a: torch.Tensor, b: torch.Tensor, target: torch.Tensor) -> None:
        self.a.copy_(a)
        self.b.copy_(b)
        self.target.copy_(target)
        self.train_graph.replay()
        self.opt.step()

    def validate(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        self.a.copy_(a)
        self.b.copy_(b)
        self.val_graph.replay()
        return self.scores


def fit(trainer: MatchTrainer, batches: list, held_out: tuple, every: int) -> list[float]:
    history = []
    for start in range(0, len(batches), every):
        scores = trainer.validate(*held_out)
        for a, b, target in batches[start : start + every]:
            trainer.train_step(a, b, target)
        history.append(scores.mean().item())  # HAZARD: pool-misuse, stale-output
    return history
