"""Both modes of a thread at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphlint.sentinel.virtual.calls import CallMode
from graphlint.sentinel.virtual.dispatch import DeviceMode


@contextmanager
def modes() -> Iterator[None]:
    """Have this thread's calls and operations go to the device."""
    with CallMode(), DeviceMode():
        yield
