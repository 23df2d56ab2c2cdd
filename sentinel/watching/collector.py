"""Python's garbage collector waits while a capture is open.

What the sentinel keeps may hold graphs in cycles for a while. A graph that is destroyed while another one
is being captured can end that capture.
"""

from __future__ import annotations

import gc
import threading

_lock = threading.Lock()
_open = 0
_was_enabled = False


def pause() -> None:
    """A capture begins."""
    global _open, _was_enabled
    with _lock:
        if _open == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _open += 1


def resume() -> None:
    """It has ended, well or not."""
    global _open
    with _lock:
        _open -= 1
        if _open == 0 and _was_enabled:
            gc.enable()
