"""Everything that a stretch of eager code writes to memory that was there before, and how to undo it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.device import active as virtual


@contextmanager
def unwatched() -> Iterator[None]:
    """Look at memory without any mode, and without a trace in autograd."""
    with torch.inference_mode(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


def all_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole of a tensor's storage as bytes."""
    where = "cpu" if virtual() else tensor.device  # memory of the virtual device is the CPU's
    return torch.empty(0, dtype=torch.uint8, device=where).set_(tensor.untyped_storage())


def view_of(storage: torch.UntypedStorage, kind: torch.dtype, *layout: Any) -> torch.Tensor:
    """A tensor over a part of a storage: `layout` is its shape, stride and offset."""
    where = "cpu" if virtual() else storage.device
    shape, stride, offset = layout
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return torch.empty(0, dtype=kind, device=where).set_(storage, offset, shape, stride)


def whole(storage: torch.UntypedStorage) -> torch.Tensor:
    """A tensor of bytes over all of a storage."""
    return view_of(storage, torch.uint8, (storage.nbytes(),), (1,), 0)


class Saved:
    """One storage: a tensor of it, and what it held before it was first written."""

    __slots__ = ("before", "bytes", "tensor", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.version = version_of(tensor)
        with unwatched():
            self.bytes = all_bytes(tensor)
            self.before = self.bytes.clone()

    def put_back(self) -> torch.Tensor:
        """Undo the writes; returns what they had written."""
        with unwatched():
            written = self.bytes.clone()
            self.bytes.copy_(self.before)
        restore_version(self.tensor, self.version)
        return written


def typed(data: torch.Tensor, saved: Saved) -> torch.Tensor:
    """Bytes of a storage as what the tensor on it holds."""
    with unwatched():
        kind = saved.tensor.dtype
        return data.view(kind) if data.numel() % kind.itemsize == 0 else data


class WriteLog(TorchDispatchMode):
    """Saves memory before an operation writes it, unless it was taken while the log was kept."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: dict[int, Saved] = {}
        self._fresh: set[int] = set()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction():
            for tensor in written_by(function, args, kwargs):
                self.save(tensor)
            made = function(*args, **kwargs)
        self._fresh.update(
            _memory(tensor) for tensor in _tensors(made) if _memory(tensor) not in self._old(args)
        )
        return made

    def _old(self, args: Any) -> set[int]:
        return {_memory(tensor) for tensor in _tensors(args)}

    def save(self, tensor: torch.Tensor) -> None:
        """Remember what a tensor's memory holds, once."""
        memory = _memory(tensor)
        if memory and memory not in self._fresh and memory not in self.saved:
            self.saved[memory] = Saved(tensor)

    def put_back(self) -> dict[int, torch.Tensor]:
        """Undo every write; returns what had been written, by storage."""
        return {memory: saved.put_back() for memory, saved in self.saved.items()}


@contextmanager
def logged_writes() -> Iterator[WriteLog]:
    """Keep a log of this thread's writes, those of Triton kernels included."""
    patches, log = Patches(), WriteLog()
    jit: Any = sys.modules.get("triton.runtime.jit")
    if jit is not None:
        patches.set(jit.JITFunction, "run", _saving(jit.JITFunction.run, log))
    try:
        with log:
            yield log
    finally:
        patches.restore()


def _saving(run: Any, log: WriteLog) -> Any:
    def saved_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        for tensor in _tensors([*args, *kwargs.values()]):
            log.save(tensor)
        return run(self, *args, **kwargs)

    return saved_run


def written_by(function: Any, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors among an operation's arguments that its schema says it writes."""
    schema = getattr(function, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    found: list[torch.Tensor] = []
    for at, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[at] if at < len(args) else kwargs.get(argument.name)
            found += _tensors(given)
    return found


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _memory(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was written in place; -1 where nobody counts."""
    return -1 if tensor.is_inference() else tensor._version


def restore_version(tensor: torch.Tensor, version: int) -> None:
    """Take back what a write of the sentinel's own has counted."""
    if version < 0:
        return
    try:
        torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))
    except TypeError:  # before torch 2.6 it took one tensor
        torch._C._autograd._unsafe_set_version_counter(tensor, version)
