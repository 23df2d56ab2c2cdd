"""Drawn from pytorch/torchtitan#3559 (what has to be copied into the captured step each iteration).

Symptom: the loss is normalised by the number of tokens of the first batch for the whole run: the trainer hands the
step its token count through a field, and the wrapper only refreshes what it was given as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

IGNORED = -100


class StepGraph:
    def __init__(self, fn: Callable[..., torch.Tensor], warmup: int = 2) -> None:
        self.fn = fn
        self.warmup = warmup
        self.graph: torch.cuda.CUDAGraph | None = None
        self.static: list[torch.Tensor] = []

    def __call__(self, *tensors: torch.Tensor) -> torch.Tensor:
        if self.graph is None:
            self._record(tensors)
        for held, given in zip(self.static, tensors):
            held.copy_(given)
        self.graph.replay()
        return self.out.clone()

    def _record(self, tensors: tuple[torch.Tensor, ...]) -> None:
        self.static = [t.clone() for t in tensors]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(self.warmup):
                self.fn(*self.static)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.fn(*self.static)


class Trainer:
    def __init__(self, model: nn.Module, config: dict[str, Any]) -> None:
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
        self.valid_tokens: torch.Tensor | None = None
        self.run_step = StepGraph(self.forward_backward)

    def forward_backward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        for p in self.model.parameters():
            p.grad = None
        logits = self.model(tokens)
        total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")
        loss = total / self.valid_tokens
        loss.backward()
        return loss.detach()

    def train_step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        tokens, labels = batch["tokens"].cuda(), batch["labels"].cuda()
        self.valid_tokens = (labels != IGNORED).sum()  # HAZARD: rebind-static-input
        loss = self.run_step(tokens, labels)
        self.optimizer.step()
        return loss

    def train(self, loader) -> None:
        for number, batch in enumerate(loader):
            loss = self.train_step(batch)
            if number % 50 == 0:
                print(number, loss.item())
