"""Checks that look at torch themselves, beside the machine of plain events: the shadow, the canary."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_local = threading.local()


class Companion:
    """Is told what happens to graphs. A number is the ordinal of a capture."""

    only_in_calls = False  # whether replays matter to it in calls of wrapped runners only

    def entering(self, graph: Any, caller: FrameType) -> None:
        """`with torch.cuda.graph(...)` is about to open a capture; `caller` is who enters it."""

    def entered(self, graph: Any) -> None:
        """It has opened one."""

    def leaving(self, graph: Any) -> None:
        """Its body has come to an end, the capture is still open."""

    def left(self, graph: Any, error: BaseException | None, caller: FrameType) -> None:
        """The statement is left, with the error that ended the body if there was one."""

    def begun(self, graph: Any) -> None:
        """A capture has begun on this thread."""

    def ending(self, graph: Any) -> None:
        """It is about to end; what is issued now is still recorded."""

    def ended(self, graph: Any, number: int) -> None:
        """It has ended well."""

    def lost(self, graph: Any) -> None:
        """It has failed."""

    def replaying(self, graph: Any, number: int) -> None:
        """A graph is about to be replayed."""

    def replayed(self, graph: Any, number: int) -> None:
        """Its replay has been issued."""

    def settle(self) -> None:
        """Somebody asks for the findings: judge what was waiting for the device."""

    def finish(self) -> None:
        """Nobody watches any more."""


def overriding(companions: list[Companion], name: str) -> list[Any]:
    """The methods of a name that do something."""
    plain = getattr(Companion, name)
    return [getattr(one, name) for one in companions if getattr(type(one), name) is not plain]


@contextmanager
def aside() -> Iterator[None]:
    """What this thread does in the block is the sentinel's own, not the program's."""
    before = is_aside()
    _local.aside = True
    try:
        yield
    finally:
        _local.aside = before


def is_aside() -> bool:
    """Whether this thread is at work for the sentinel."""
    return getattr(_local, "aside", False)
