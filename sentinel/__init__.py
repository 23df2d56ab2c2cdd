"""The runtime half of graphlint: watches CUDA graphs while they run.

`watch()` is the way in for a block of a program, `virtual_cuda()` the device on which such programs run
without a GPU. This package never imports libcst, and importing it never imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.sentinel.session import Watch, disable, enable, watch
from graphlint.sentinel.wrapping import wrap

if TYPE_CHECKING:
    from graphlint.sentinel.virtual import virtual_cuda

__all__ = ["Watch", "disable", "enable", "virtual_cuda", "watch", "wrap"]


def __getattr__(name: str) -> Any:
    """Import the device, and torch with it, only when it is asked for."""
    if name == "virtual_cuda":
        from graphlint.sentinel.virtual import virtual_cuda

        return virtual_cuda
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
