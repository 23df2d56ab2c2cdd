"""Drawn from home-made loaders that collate and pin on a pool of threads.

Symptom: now and then the capture fails: the pool goes on pinning batches while the default mode of the capture does
not allow such calls on any thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import nn


class Collator:
    def __init__(self, features: np.ndarray, labels: np.ndarray) -> None:
        self.features, self.labels = features, labels

    def __call__(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.from_numpy(self.features[rows]).pin_memory()
        y = torch.from_numpy(self.labels[rows]).pin_memory()
        return x, y


class PooledLoader:
    def __init__(self, collate: Collator, count: int, batch: int, ahead: int = 4) -> None:
        self.collate, self.count, self.batch, self.ahead = collate, count, batch, ahead
        self.pool = ThreadPoolExecutor(max_workers=ahead)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        order = np.random.permutation(self.count)
        starts = range(0, self.count - self.batch + 1, self.batch)
        waiting: deque[Future] = deque()
        for start in starts:
            waiting.append(self.pool.submit(self.collate, order[start : start + self.batch]))
            if len(waiting) > self.ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class Learner:
    def __init__(self, net: nn.Module) -> None:
        self.net = net.cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _update(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def _capture(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x.cuda(), y.cuda()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # HAZARD: thread-mode
            self.loss = self._update()

    def fit(self, loader: PooledLoader, epochs: int) -> float:
        for _ in range(epochs):
            for x, y in loader:
                if self.graph is None:
                    self._capture(x, y)
                self.x.copy_(x, non_blocking=True)
                self.y.copy_(y, non_blocking=True)
                self.graph.replay()
        return self.loss.item()


def main(features: np.ndarray, labels: np.ndarray) -> float:
    loader = PooledLoader(Collator(features, labels), len(labels), 512)
    net = nn.Sequential(nn.Linear(features.shape[1], 256), nn.ReLU(), nn.Linear(256, 10))
    return Learner(net).fit(loader, epochs=5)
