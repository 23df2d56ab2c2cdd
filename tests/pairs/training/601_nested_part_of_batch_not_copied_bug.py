"""Drawn from trainers over batches of graphs (nested dicts of tensors, as in recommenders and graph networks).

Symptom: the model sees the edges of the first batch for ever: the function that refreshes the static batch copies
tensors and leaves out the dict that is nested in it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

Batch = dict[str, Any]


def to_static(batch: Batch) -> Batch:
    made: Batch = {}
    for key, value in batch.items():
        if isinstance(value, dict):
            made[key] = to_static(value)
        else:
            made[key] = value.cuda().clone()
    return made


def refresh(static: Batch, batch: Batch) -> None:
    for key, value in batch.items():
        if isinstance(value, torch.Tensor):
            static[key].copy_(value, non_blocking=True)


class EdgeModel(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.node = nn.Linear(width, width)
        self.edge = nn.Linear(2 * width, 1)

    def forward(self, batch: Batch) -> torch.Tensor:
        nodes = torch.relu(self.node(batch["nodes"]))
        source, target = batch["edges"]["source"], batch["edges"]["target"]
        pairs = torch.cat([nodes[source], nodes[target]], dim=-1)
        return self.edge(pairs).squeeze(-1)


class EdgeTrainer:
    def __init__(self, width: int, sample: Batch) -> None:
        self.model = EdgeModel(width).cuda()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3, capturable=True)
        self.static = to_static(sample)
        self.graph = torch.cuda.CUDAGraph()
        self._capture()

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits = self.model(self.static)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, self.static["labels"])
        loss.backward()
        self.opt.step()
        return loss

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def step(self, batch: Batch) -> torch.Tensor:
        refresh(self.static, batch)
        self.graph.replay()  # HAZARD: rebind-static-input, stale-pointer, other
        return self.loss.clone()


def train(loader, width: int) -> list[float]:
    trainer: EdgeTrainer | None = None
    losses = []
    for batch in loader:
        if trainer is None:
            trainer = EdgeTrainer(width, batch)
        losses.append(trainer.step(batch).item())
    return losses
