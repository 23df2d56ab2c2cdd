from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .config import EngineConfig, GraphMode
from .forward_context import BatchDescriptor, get_forward_context


@dataclass
class GraphEntry:
    descriptor: BatchDescriptor
    graph: torch.cuda.CUDAGraph | None = None
    output: Any = None


_pool: Any = None


def global_pool() -> Any:
    global _pool
    if _pool is None:
        _pool = torch.cuda.graph_pool_handle()
    return _pool


class GraphWrapper:
    """Captures the callable for each batch descriptor that it sees in its own mode, and replays it later."""

    def __init__(self, runnable: Callable[..., Any], config: EngineConfig, mode: GraphMode) -> None:
        self.runnable = runnable
        self.config = config
        self.mode = mode
        self.pool = global_pool()
        self.entries: dict[BatchDescriptor, GraphEntry] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runnable, name)

    def unwrap(self) -> Callable[..., Any]:
        return self.runnable

    def clear(self) -> None:
        self.entries.clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        context = get_forward_context()
        descriptor = context.descriptor
        if context.mode is not self.mode or descriptor is None:
            return self.runnable(*args, **kwargs)
        entry = self.entries.get(descriptor)
        if entry is None:
            entry = self.entries[descriptor] = GraphEntry(descriptor)
        if entry.graph is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                output = self.runnable(*args, **kwargs)
            entry.graph, entry.output = graph, output
            return output
        entry.graph.replay()
        return entry.output
