"""The runtime half of graphlint: watches CUDA graphs while they run.

`watch()` is the way in for a block of a program, `enable()` and `disable()` for one without, `wrap()` tells
more of a captured runner; `virtual_cuda()` is the device on which such programs run without a GPU. This
package never imports libcst, and nothing of it imports torch before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphlint.sentinel.session import Watch, disable, enable, watch
    from graphlint.sentinel.virtual import virtual_cuda
    from graphlint.sentinel.wrapping import wrap

__all__ = ["Watch", "disable", "enable", "virtual_cuda", "watch", "wrap"]

_HOMES = {
    "Watch": "session",
    "disable": "session",
    "enable": "session",
    "virtual_cuda": "virtual",
    "watch": "session",
    "wrap": "wrapping",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only now: every run of pytest loads this package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
