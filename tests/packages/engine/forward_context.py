"""What every layer may ask for while one forward pass runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .config import DebugConfig


@dataclass
class ForwardContext:
    metadata: Any
    kv_caches: list[Any]
    debug: DebugConfig


_current: ForwardContext | None = None


def get_forward_context() -> ForwardContext:
    assert _current is not None, "no forward pass is running"
    return _current


@contextmanager
def set_forward_context(metadata: Any, kv_caches: list[Any], debug: DebugConfig):
    global _current
    before = _current
    _current = ForwardContext(metadata, kv_caches, debug)
    try:
        yield _current
    finally:
        _current = before
