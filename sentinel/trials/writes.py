"""Everything that a stretch of eager code writes to memory that was there before, and how to undo it."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graphlint.sentinel.hoststate.living import living
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.device import active as virtual
from graphlint.sentinel.watching.companions import aside
from graphlint.sentinel.watching.operators import operator

# Running statistics, which these operations write although their schemas do not say so.
_UNSAID = {
    "native_batch_norm": (3, 4),
    "cudnn_batch_norm": (3, 4),
    "miopen_batch_norm": (3, 4),
    "_batch_norm_impl_index": (3, 4),
    "batch_norm": (3, 4),
    "instance_norm": (3, 4),
    "batch_norm_update_stats": (1, 2),
    "batch_norm_gather_stats": (3, 4),
    "batch_norm_gather_stats_with_counts": (3, 4),
}


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


class Outside:
    """Memory that was there before, and is not kept alive."""

    __slots__ = ("kind", "reference")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.reference = weakref.ref(tensor.untyped_storage())
        self.kind = tensor.dtype

    def tensor(self) -> torch.Tensor | None:
        """A tensor over all of it, while it lives."""
        storage = living(self.reference)
        if storage is None:
            return None
        return view_of(storage, self.kind, (storage.nbytes() // self.kind.itemsize,), (1,), 0)


class Writes:
    """Follows operations: which memory they take anew, and which they write that was there before.

    Of the latter `cleared` is what they overwrite before anything reads it. Not `complete` when something was
    launched that is no operation of torch.
    """

    def __init__(self) -> None:
        self.outside: dict[int, Outside] = {}
        self.cleared: set[int] = set()
        self.complete = True
        self._fresh: set[int] = set()
        self._read: set[int] = set()

    def before(self, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """An operation is about to run."""
        known = operator(function)
        only_written = known.only_written if known is not None else ()
        for key, value in (*enumerate(args), *kwargs.items()):
            for tensor in tensors_of(value):
                self._touched(tensor, key in only_written)
        for tensor in written_by(function, args, kwargs):
            self.note(tensor)

    def _touched(self, tensor: torch.Tensor, only_written: bool) -> None:
        memory = memory_of(tensor)
        if not only_written:
            self._read.add(memory)
        elif memory not in self._read and memory not in self.outside:
            self.cleared.add(memory)

    def note(self, tensor: torch.Tensor) -> bool:
        """A tensor is about to be written; whether its memory is old and not known to be written yet."""
        memory = memory_of(tensor)
        if not memory or memory in self._fresh or memory in self.outside:
            return False
        self.outside[memory] = Outside(tensor)
        return True

    def after(self, args: Any, made: Any) -> None:
        """It has run."""
        new = {memory_of(tensor) for tensor in tensors_of(made)}
        if new:
            self._fresh |= new - {memory_of(tensor) for tensor in tensors_of(args)}


class WriteLog(TorchDispatchMode):
    """Saves memory before an operation writes it, unless it was taken while the log was kept."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: dict[int, Saved] = {}
        self._writes = Writes()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # to be kept out of it would cost every operation a call

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction(), aside():  # a backward pass has threads of its own
            for tensor in written_by(function, args, kwargs):
                self.save(tensor)
            made = function(*args, **kwargs)
            self._writes.after(args, made)
        return made

    def save(self, tensor: torch.Tensor) -> None:
        """Remember what a tensor's memory holds, once."""
        if self._writes.note(tensor):
            self.saved[memory_of(tensor)] = Saved(tensor)

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
        for tensor in tensors_of([*args, *kwargs.values()]):
            log.save(tensor)
        return run(self, *args, **kwargs)

    return saved_run


def written_by(function: Any, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors among an operation's arguments that it writes."""
    known = operator(function)
    if known is None:
        return []
    if not known.written:
        unsaid = _UNSAID.get(known.kind, ())
        return [args[at] for at in unsaid if at < len(args) and isinstance(args[at], torch.Tensor)]
    given = (*enumerate(args), *kwargs.items())
    return [tensor for key, value in given if key in known.written for tensor in tensors_of(value)]


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors in an operation's arguments or results."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


def memory_of(tensor: torch.Tensor) -> int:
    """What tells storages apart while they live; 0 where there is none."""
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
