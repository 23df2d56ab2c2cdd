"""Drawn from sgl-project/sglang start-up options and lmdeploy's graph runner.

Symptom: the number of warm-up runs is an option whose default is none; the first matrix product of the
process happens inside the capture.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class GraphOptions:
    warmup_runs: int = 0
    sizes: tuple[int, ...] = (8, 4, 2)


class GraphRunner:
    def __init__(self, model: nn.Linear, options: GraphOptions | None = None):
        self.model = model
        self.options = options or GraphOptions()
        self.pool = torch.cuda.graph_pool_handle()
        self.x = torch.zeros(max(self.options.sizes), model.in_features, device="cuda")
        self.table = {size: self._record(size) for size in self.options.sizes}

    @torch.inference_mode()
    def _record(self, size: int):
        for _ in range(self.options.warmup_runs):
            self.model(self.x[:size])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):  # HAZARD: missing-warmup
            y = self.model(self.x[:size])  # ALT: missing-warmup
        return graph, y

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        size = min(s for s in self.options.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:size].zero_()
        graph, y = self.table[size]
        graph.replay()
        return y[:n].clone()


def build(width: int) -> GraphRunner:
    return GraphRunner(nn.Linear(width, width, device="cuda"))
