from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from .config import EngineConfig, GraphMode


class BatchDescriptor(NamedTuple):
    num_tokens: int
    uniform: bool = False


@dataclass
class ForwardContext:
    layers: dict[str, Any]
    metadata: Any
    mode: GraphMode
    descriptor: BatchDescriptor | None


_current: ForwardContext | None = None


def get_forward_context() -> ForwardContext:
    assert _current is not None, "no forward is running"
    return _current


@contextmanager
def set_forward_context(
    metadata: Any,
    config: EngineConfig,
    mode: GraphMode = GraphMode.NONE,
    descriptor: BatchDescriptor | None = None,
) -> Iterator[None]:
    global _current
    before = _current
    _current = ForwardContext(config.compilation.layers, metadata, mode, descriptor)
    try:
        yield
    finally:
        _current = before
