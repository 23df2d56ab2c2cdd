"""A CUDA device made of ordinary memory, so that CUDA-graph programs run, and go wrong, without a GPU.

`virtual_cuda()` is the way in. Everything else is one thing to a module: `arena` and `allocator` are the
device's memory, `streams`, `capture` and `tape` its order of work, `dispatch` and `calls` are where the
program's operations arrive, `namespace` and `moves` what `torch.cuda` and tensors answer.
docs/virtual-device.md tells what it does and does not do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphlint.sentinel.virtual.context import virtual_cuda
    from graphlint.sentinel.virtual.races import race

__all__ = ["race", "virtual_cuda"]


def __getattr__(name: str) -> Any:
    """Import torch only when the device is asked for."""
    if name == "virtual_cuda":
        from graphlint.sentinel.virtual.context import virtual_cuda

        return virtual_cuda
    if name == "race":
        from graphlint.sentinel.virtual.races import race

        return race
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
