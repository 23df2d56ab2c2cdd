from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import torch

CAPTURE_LOCK = threading.Lock()


@dataclass
class Recorded:
    graph: torch.cuda.CUDAGraph
    inputs: tuple[torch.Tensor, ...]
    output: torch.Tensor

    def run(self, *values: torch.Tensor) -> torch.Tensor:
        for static, value in zip(self.inputs, values):
            static.copy_(value, non_blocking=True)
        self.graph.replay()
        return self.output


class GraphPool:
    """Graphs of one function under keys; those that were not used for longest go first."""

    def __init__(self, function: Callable[..., torch.Tensor], kept: int, warmups: int = 2) -> None:
        self.function = function
        self.kept = kept
        self.warmups = warmups
        self.handle = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.recorded: OrderedDict[Hashable, Recorded] = OrderedDict()

    def __call__(self, key: Hashable, *values: torch.Tensor) -> torch.Tensor:
        found = self.recorded.get(key)
        if found is None:
            found = self.recorded[key] = self._record(values)
            while len(self.recorded) > self.kept:
                self.recorded.popitem(last=False)
        self.recorded.move_to_end(key)
        return found.run(*values)

    def _record(self, values: tuple[torch.Tensor, ...]) -> Recorded:
        inputs = tuple(torch.empty_like(value).copy_(value) for value in values)
        with CAPTURE_LOCK:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                for _ in range(self.warmups):
                    self.function(*inputs)
            torch.cuda.current_stream().wait_stream(self.stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(
                graph, pool=self.handle, stream=self.stream, capture_error_mode="thread_local"
            ):
                output = self.function(*inputs)
        return Recorded(graph, inputs, output)
