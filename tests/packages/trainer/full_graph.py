from __future__ import annotations

from collections.abc import Callable

import torch

from .arguments import TrainingArgs
from .rng import get_rng_tracker


class FullIterationGraph:
    """Runs a step eagerly a few times, then captures it, then replays it."""

    def __init__(self, step: Callable, args: TrainingArgs) -> None:
        self.step = step
        self.args = args
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.result = None
        self.stream = torch.cuda.Stream()

    def __call__(self):
        self.calls += 1
        if self.calls <= self.args.graph_warmup:
            return self._eager()
        if self.graph is None:
            self._capture()
        self.graph.replay()
        return self.result

    def _eager(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            result = self.step()
        torch.cuda.current_stream().wait_stream(self.stream)
        return result

    def _capture(self) -> None:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        get_rng_tracker().register_all(graph)
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
            self.result = self.step()
        self.graph = graph
