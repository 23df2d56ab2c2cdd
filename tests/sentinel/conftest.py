"""Torch is needed here and nowhere else: it is imported when a test asks for the device, not before."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest


def _need_torch() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU on this machine")


@pytest.fixture
def cuda() -> Iterator[Any]:
    """The virtual device, in early order."""
    _need_torch()
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda() as device:
        yield device


@pytest.fixture
def counted_cuda(cuda: Any) -> Any:
    """The virtual device for tests that count bytes: what earlier tests have left is gone.

    Memory belongs to the process, so garbage of another test would be freed between two counts.
    """
    gc.collect()
    return cuda


@pytest.fixture
def late_cuda() -> Iterator[Any]:
    """The virtual device, in late order."""
    _need_torch()
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda(order="late") as device:
        yield device


def _watching(mode: Any) -> Iterator[Any]:
    """The sentinel on a GPU if there is one, else on the virtual device."""
    torch = pytest.importorskip("torch")
    on_gpu = torch.cuda.is_available()
    if not on_gpu:
        _need_torch()
    from graphlint.sentinel import watch

    with watch(mode, virtual=not on_gpu) as watching:
        yield watching


@pytest.fixture
def watched() -> Iterator[Any]:
    """The sentinel in mode "watch"."""
    yield from _watching("watch")


@pytest.fixture
def canary() -> Iterator[Any]:
    """The sentinel in mode "canary"."""
    yield from _watching("canary")


@pytest.fixture
def tested() -> Iterator[Any]:
    """The sentinel in mode "test"."""
    yield from _watching("test")
