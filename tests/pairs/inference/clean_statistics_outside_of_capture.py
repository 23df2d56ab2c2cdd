"""Right: routing statistics are counted on the device and read on the host between replays.

The hook that reads them asks first whether the stream is capturing, and the window is cleared in place.
"""

from __future__ import annotations

import logging
from collections import defaultdict

import torch
import torch.nn as nn

logger = logging.getLogger(__name__)


class RoutingStatistics:
    def __init__(self, layers: int, experts: int):
        self.counts = torch.zeros(layers, experts, dtype=torch.long, device="cuda")
        self.history: dict[int, list[int]] = defaultdict(list)
        self.steps = 0

    def record(self, layer: int, ids: torch.Tensor) -> None:
        self.counts[layer].scatter_add_(0, ids.flatten(), torch.ones_like(ids.flatten()))

    def end_of_pass(self) -> None:
        if torch.cuda.is_current_stream_capturing():
            return
        self.steps += 1
        if self.steps % 100 == 0:
            for layer, row in enumerate(self.counts.tolist()):
                self.history[layer].append(max(row))
            logger.info("busiest experts: %s", dict(self.history))
            self.counts.zero_()


class MoELayer(nn.Module):
    def __init__(self, index: int, experts: int, width: int, statistics: RoutingStatistics):
        super().__init__()
        self.index, self.statistics = index, statistics
        self.gate = nn.Linear(width, experts, bias=False)
        self.w = nn.Parameter(torch.zeros(experts, width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score, ids = self.gate(x).softmax(-1).topk(2, dim=-1)
        self.statistics.record(self.index, ids)
        return torch.einsum("bd,bkde,bk->be", x, self.w[ids], score)


class Model(nn.Module):
    def __init__(self, layers: int, experts: int, width: int, statistics: RoutingStatistics):
        super().__init__()
        self.layers = nn.ModuleList(MoELayer(i, experts, width, statistics) for i in range(layers))
        self.statistics = statistics

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x)
        self.statistics.end_of_pass()
        return x


class Runner:
    def __init__(self, model: Model, batch: int, width: int):
        self.model = model.cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    @torch.inference_mode()
    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        self.model.statistics.end_of_pass()
        return self.y.clone()
