"""Drawn from the `data_prefetcher` of the apex examples, used in front of a captured step.

Symptom: the graph is captured over the batch that the prefetcher holds; the prefetcher binds new tensors for
every following batch, and all replays train on the first one.
"""

from __future__ import annotations

import torch
from torch import nn

MEAN = (123.7, 116.3, 103.5)
STD = (58.4, 57.1, 57.4)


class Prefetcher:
    def __init__(self, loader) -> None:
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1)
        self.std = torch.tensor(STD, device="cuda").view(1, 3, 1, 1)
        self.input: torch.Tensor | None = None
        self.target: torch.Tensor | None = None
        self.preload()

    def preload(self) -> None:
        batch = next(self.loader, None)
        if batch is None:
            self.input = self.target = None
            return
        with torch.cuda.stream(self.stream):
            self.input = batch[0].cuda(non_blocking=True).float()  # HAZARD: rebind-static-input
            self.target = batch[1].cuda(non_blocking=True)  # HAZARD: rebind-static-input
            self.input = self.input.sub_(self.mean).div_(self.std)

    def ready(self) -> bool:
        torch.cuda.current_stream().wait_stream(self.stream)
        if self.input is None:
            return False
        self.input.record_stream(torch.cuda.current_stream())
        self.target.record_stream(torch.cuda.current_stream())
        return True


class ImageTrainer:
    def __init__(self, model: nn.Module, loader) -> None:
        self.model = model.cuda().train()
        self.prefetcher = Prefetcher(loader)
        self.criterion = nn.CrossEntropyLoss().cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _step(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(self.prefetcher.input), self.prefetcher.target)
        loss.backward()
        self.optimizer.step()
        return loss

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def epoch(self) -> float:
        total, count = 0.0, 0
        while self.prefetcher.ready():
            if self.graph is None:
                self._capture()
            self.graph.replay()  # ALT: rebind-static-input
            total += self.loss.item()
            count += 1
            self.prefetcher.preload()
        return total / max(count, 1)
