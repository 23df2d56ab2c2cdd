"""Reads of tensors that no dispatch mode sees: `repr`, `tolist`, `numpy`, DLPack, the array interface,
Triton.

Mode "test" only: attributes of `torch.Tensor` are replaced in place.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.origins import is_program
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.watching.companions import aside
from graphlint.sentinel.watching.memories import base_of
from graphlint.sentinel.watching.reads import Reads
from graphlint.sentinel.watching.streams import current_stream

_WAITING = ("__repr__", "__array__", "tolist", "numpy")
_TRITON = (
    ("triton.runtime.jit", "JITFunction", "run"),
    ("triton.runtime.interpreter", "GridExecutor", "__call__"),
)


def install(patches: Patches, reads: Reads) -> None:
    """Replace them."""
    tensor = torch.Tensor
    for name in _WAITING:
        patches.set(tensor, name, _reading(getattr(tensor, name), reads, waits=True))
    patches.set(tensor, "__dlpack__", _reading(tensor.__dlpack__, reads))
    interface = tensor.__cuda_array_interface__
    patches.set(tensor, "__cuda_array_interface__", property(_reading(interface.fget, reads)))
    patches.set(tensor, "data_ptr", _unseen(tensor.data_ptr, reads, "`data_ptr()` of an output"))
    dlpack = torch.utils.dlpack
    patches.set(dlpack, "to_dlpack", _unseen(dlpack.to_dlpack, reads, "`to_dlpack` of an output"))
    for module, kind, name in _TRITON:
        if module in sys.modules:
            owner = getattr(sys.modules[module], kind)
            patches.set(owner, name, _launching(getattr(owner, name), reads))


def _note(reads: Reads, tensor: torch.Tensor) -> None:
    memory = reads.bases.get(base_of(tensor))
    if memory is not None and memory.alive and reads.observer.following:
        reads.read(tensor, memory, memory.base in reads.hosts)


def _reading(plain: Any, reads: Reads, waits: bool = False) -> Any:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not reads.bases or not reads.observer.following:
            return plain(self, *args, **kwargs)
        _note(reads, self)
        with aside():
            result = plain(self, *args, **kwargs)
        if waits and self.is_cuda:
            reads.observer.tell(events.Synchronised(stream=current_stream()))
        return result

    read.__name__ = getattr(plain, "__name__", "read")
    return read


def _unseen(plain: Any, reads: Reads, what: str) -> Any:
    def taken(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if reads.observer.following and is_program(sys._getframe(1).f_code):
            memory = reads.bases.get(base_of(tensor))
            if memory is not None and memory.number in reads.observer.memories.outputs:
                reads.observer.miss(f"reads through {what} are not seen")
        return plain(tensor, *args, **kwargs)

    return taken


def _launching(plain: Any, reads: Reads) -> Any:
    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor):
                _note(reads, value)
        return plain(self, *args, **kwargs)

    return launch
