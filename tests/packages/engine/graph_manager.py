from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from .config import GraphConfig


@dataclass
class GraphEntry:
    graph: torch.cuda.CUDAGraph
    output: torch.Tensor


class GraphManager:
    def __init__(self, config: GraphConfig, device: torch.device) -> None:
        self.config = config
        self.device = device
        self.entries: dict[int, GraphEntry] = {}
        self.pool = None

    def size_for(self, n: int) -> int | None:
        return next((size for size in sorted(self.config.sizes) if size >= n), None)

    def capture_all(self, run: Callable[[int], torch.Tensor]) -> None:
        for size in sorted(self.config.sizes, reverse=True):
            self.entries[size] = self._capture(size, run)

    def _capture(self, size: int, run: Callable[[int], torch.Tensor]) -> GraphEntry:
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(self.config.warmup_steps):
                run(size)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            output = run(size)
        if self.pool is None:
            self.pool = graph.pool()
        return GraphEntry(graph, output)

    def replay(self, size: int) -> torch.Tensor:
        entry = self.entries[size]
        entry.graph.replay()
        return entry.output
