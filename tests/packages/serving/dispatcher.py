from __future__ import annotations

from .config import EngineConfig, GraphMode
from .forward_context import BatchDescriptor


class GraphDispatcher:
    """Says which graph a batch is to run on: the mode, and the descriptor after padding."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.keys: dict[GraphMode, set[BatchDescriptor]] = {GraphMode.FULL: set()}
        self.sizes = sorted(config.compilation.capture_sizes)
        self.padded: list[int] = []

    def initialize_keys(self) -> None:
        limit = self.sizes[-1]
        self.padded = [next(size for size in self.sizes if size >= n) for n in range(limit + 1)]
        if self.config.compilation.mode is GraphMode.FULL:
            for size in self.sizes:
                self.keys[GraphMode.FULL].add(BatchDescriptor(size, uniform=True))

    def capture_cases(self) -> list[BatchDescriptor]:
        return sorted(self.keys[GraphMode.FULL], key=lambda each: each.num_tokens, reverse=True)

    def dispatch(self, num_tokens: int, uniform: bool) -> tuple[GraphMode, BatchDescriptor]:
        if num_tokens >= len(self.padded):
            return GraphMode.NONE, BatchDescriptor(num_tokens)
        descriptor = BatchDescriptor(self.padded[num_tokens], uniform)
        if descriptor in self.keys[GraphMode.FULL]:
            return GraphMode.FULL, descriptor
        return GraphMode.NONE, BatchDescriptor(num_tokens)
