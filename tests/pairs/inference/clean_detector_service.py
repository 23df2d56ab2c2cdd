"""Clean: what depends on the data runs between two graphs; buffers grow only together with a new
capture; every result leaves as a copy; the order of captures is from large to small."""

from __future__ import annotations

import bisect
from collections import OrderedDict

import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.score = nn.Conv2d(channels, 1, 1)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = torch.relu(self.stem(images))
        return features, self.score(features).flatten(1)


class Refiner(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.mix = nn.Linear(channels, channels)
        self.out = nn.Linear(channels, 4)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.mix(rows)))


class Captured:
    def __init__(self, fn, example: torch.Tensor, pool=None):
        self.source = torch.zeros_like(example)
        for _ in range(2):
            fn(self.source)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.result = fn(self.source)

    def __call__(self, value: torch.Tensor):
        n = value.shape[0]
        self.source[:n].copy_(value)
        self.source[n:].zero_()
        self.graph.replay()
        return self.result


class Service:
    def __init__(self, channels: int = 32, budgets=(256, 128, 64, 32), sizes: int = 4):
        self.backbone, self.refiner = Backbone(channels).cuda().eval(), Refiner(channels).cuda().eval()
        self.channels, self.most = channels, sizes
        self.images: OrderedDict[tuple, Captured] = OrderedDict()
        self.budgets = sorted(budgets)
        self.refine: dict[int, Captured] = {}

    @torch.inference_mode()
    def warm(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for budget in reversed(self.budgets):
            example = torch.zeros(budget, self.channels, device="cuda")
            self.refine[budget] = Captured(self.refiner, example, pool)

    def _backbone(self, images: torch.Tensor):
        key = tuple(images.shape)
        if key not in self.images:
            while len(self.images) >= self.most:
                self.images.popitem(last=False)
            self.images[key] = Captured(self.backbone, images)
        return self.images[key](images)

    @torch.inference_mode()
    def detect(self, images: torch.Tensor, threshold: float = 0.5) -> list[torch.Tensor]:
        features, scores = self._backbone(images)
        rows = features.flatten(2).transpose(1, 2)
        hits = (scores.sigmoid() > threshold).nonzero()
        picked = rows[hits[:, 0], hits[:, 1]]
        index = bisect.bisect_left(self.budgets, picked.shape[0])
        if index == len(self.budgets):
            boxes = self.refiner(picked)
        else:
            boxes = self.refine[self.budgets[index]](picked)[: picked.shape[0]].clone()
        counts = torch.bincount(hits[:, 0], minlength=images.shape[0]).tolist()
        return list(boxes.split(counts))
