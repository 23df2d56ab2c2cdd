"""Python's garbage collector waits while a capture is open, and is known while it is at work.

What the sentinel keeps may hold graphs in cycles for a while, as optimizers do. A graph that is destroyed
while another one is being captured can end that capture.
"""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

from graphlint.sentinel.watching.companions import Companion

_lock = threading.RLock()  # a graph may end, and with it what it holds, inside of one of these functions
_open: dict[int, weakref.finalize[[int], Any]] = {}  # by the address of the graph that is captured
_was_enabled = False


def hold(graph: Any) -> None:
    """A capture of a graph begins. One that is never ended is over when its graph is gone."""
    global _was_enabled
    with _lock:
        if not _open:
            _was_enabled = gc.isenabled()
            gc.disable()
        _open[id(graph)] = weakref.finalize(graph, _let_go, id(graph))
        _open[id(graph)].atexit = False


def let_go(graph: Any) -> None:
    """It has ended, well or not."""
    _let_go(id(graph))


def _let_go(key: int) -> None:
    with _lock:
        ended = _open.pop(key, None)
        if ended is not None:
            ended.detach()
            if not _open and _was_enabled:
                gc.enable()


class Collecting(Companion):
    """Notes when the collector is at work: what ends then ends at no line of the program."""

    def __init__(self) -> None:
        self.now = False
        self.times = 0  # that it has been
        gc.callbacks.append(self._told)

    def _told(self, phase: str, _: dict[str, int]) -> None:
        self.now = phase == "start"
        self.times += self.now

    def finish(self) -> None:
        """Also the collector of captures that were never ended goes on."""
        gc.callbacks.remove(self._told)
        for key in list(_open):
            _let_go(key)
