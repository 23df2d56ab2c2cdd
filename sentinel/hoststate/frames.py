"""The local names of a frame that is running, without a trace left in it."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

_SNAPSHOT = sys.version_info < (3, 13)


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The names of a frame and what they lead to now.

    Before Python 3.13 a frame of a function keeps the dictionary that it gave out, with all that was in it;
    so it is emptied here, or tensors would live longer because somebody looked. At module level it is the
    module's own dictionary.
    """
    names = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return names
    copy = dict(names)
    if _SNAPSHOT:
        names.clear()
    return copy
