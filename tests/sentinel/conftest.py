"""Torch is needed here and nowhere else: it is imported when a test asks for the device, not before."""

from __future__ import annotations

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
def late_cuda() -> Iterator[Any]:
    """The virtual device, in late order."""
    _need_torch()
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda(order="late") as device:
        yield device


@pytest.fixture
def watched() -> Iterator[Any]:
    """The sentinel in mode "watch" on the virtual device."""
    _need_torch()
    from graphlint.sentinel import watch

    with watch(virtual=True) as watching:
        yield watching


@pytest.fixture
def tested() -> Iterator[Any]:
    """The sentinel in mode "test" on the virtual device."""
    _need_torch()
    from graphlint.sentinel import watch

    with watch("test", virtual=True) as watching:
        yield watching
