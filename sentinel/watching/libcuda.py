"""The few calls of the CUDA driver that read a graph while it is being captured, through ctypes."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

_pointer, _size, _uint = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
_KERNEL, _MEMCPY, _MEMSET, _CHILD = 0, 1, 2, 4
_ON_HOST = 1  # CU_MEMORYTYPE_HOST
_BUFFER, _BUFFER_SIZE = 1, 2  # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE
_LARGEST = 1 << 16  # bytes of arguments


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("function", _pointer),
        ("grid", _uint * 3),
        ("block", _uint * 3),
        ("shared", _uint),
        ("arguments", _pointer),
        ("extra", _pointer),
        ("kernel", _pointer),
        ("context", _pointer),
    )


def _side(name: str) -> list[tuple[str, Any]]:
    offsets = [(f"{name}_{at}", _size) for at in ("x", "y", "z", "level")]
    memory = [(f"{name}_kind", _uint), (f"{name}_host", _pointer), (f"{name}_device", ctypes.c_uint64)]
    return [*offsets, *memory, *((f"{name}_{at}", _pointer) for at in ("array", "unused")), *_pitch(name)]


def _pitch(name: str) -> list[tuple[str, Any]]:
    return [(f"{name}_pitch", _size), (f"{name}_height", _size)]


class _Memcpy(ctypes.Structure):
    _fields_ = (*_side("source"), *_side("target"), ("width", _size), ("height", _size), ("depth", _size))


class _Memset(ctypes.Structure):
    _fields_ = (
        ("target", ctypes.c_uint64),
        ("pitch", _size),
        ("value", _uint),
        ("element", _uint),
        ("width", _size),
        ("height", _size),
    )


@dataclass(slots=True)
class Side:
    """What a copy or a fill reads or writes."""

    address: int
    size: int
    writes: bool
    host: bool = False


@dataclass(slots=True)
class Node:
    """A recorded kernel, copy or fill. `name` is asked for when it is wanted.

    `sides` are those of a copy or a fill, `words` the numbers in each argument of a kernel.
    """

    name: Callable[[], str]
    sides: list[Side] = field(default_factory=list)
    words: list[tuple[int, ...]] = field(default_factory=list)


class Driver:
    """libcuda, loaded once."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._own = os.open("/proc/self/mem", os.O_RDONLY)
        weakref.finalize(self, os.close, self._own)
        self._layouts: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._names: dict[tuple[int, int], str] = {}

    def capturing(self, stream: int) -> int:
        """The graph that a stream is being captured into; 0 if there is none that is valid."""
        status, number = ctypes.c_int(), ctypes.c_uint64()
        graph, edges, count = _pointer(), _pointer(), _size()
        call = self._cuda.cuStreamGetCaptureInfo_v2
        outs = [ctypes.byref(out) for out in (status, number, graph, edges, count)]
        failed = call(_pointer(stream), *outs)
        return 0 if failed or status.value != 1 else int(graph.value or 0)

    def nodes(self, graph: int) -> Iterator[Node]:
        """What a graph holds, those of inner graphs included."""
        count = _size()
        if self._cuda.cuGraphGetNodes(_pointer(graph), None, ctypes.byref(count)):
            return
        handles = (_pointer * count.value)()
        self._cuda.cuGraphGetNodes(_pointer(graph), handles, ctypes.byref(count))
        for handle in handles:
            yield from self._node(_pointer(handle))

    def _node(self, handle: Any) -> Iterator[Node]:
        kind = ctypes.c_int()
        self._cuda.cuGraphNodeGetType(handle, ctypes.byref(kind))
        if kind.value == _KERNEL:
            yield self._kernel(handle)
        elif kind.value == _MEMCPY:
            yield self._memcpy(handle)
        elif kind.value == _MEMSET:
            yield self._memset(handle)
        elif kind.value == _CHILD:
            inner = _pointer()
            if not self._cuda.cuGraphChildGraphNodeGetGraph(handle, ctypes.byref(inner)):
                yield from self.nodes(int(inner.value or 0))

    def _memset(self, handle: Any) -> Node:
        params = _Memset()
        self._cuda.cuGraphMemsetNodeGetParams(handle, ctypes.byref(params))
        size = params.width * params.element + params.pitch * max(params.height - 1, 0)
        return Node(lambda: "memset", [Side(params.target, size, writes=True)])

    def _memcpy(self, handle: Any) -> Node:
        params = _Memcpy()
        self._cuda.cuGraphMemcpyNodeGetParams(handle, ctypes.byref(params))
        return Node(lambda: "memcpy", [_side_of(params, "source"), _side_of(params, "target")])

    # Kernels.

    def _kernel(self, handle: Any) -> Node:
        params = _Kernel()
        if self._cuda.cuGraphKernelNodeGetParams_v2(handle, ctypes.byref(params)):
            return Node(lambda: "kernel")
        words = list(self._arguments(params)) if params.arguments else []
        if not params.arguments and params.extra:
            words.append(_words(self._extra(params.extra)))
        return Node(lambda: self._name(params), words=words)

    def _arguments(self, params: _Kernel) -> Iterator[tuple[int, ...]]:
        layout = self._layout(params)
        pointers = (_pointer * len(layout)).from_address(params.arguments)
        for (offset, size), at in zip(layout, pointers):
            if at and size >= 8:
                skipped = -offset % 8
                yield _words(ctypes.string_at(at + skipped, size - skipped))

    def _layout(self, params: _Kernel) -> list[tuple[int, int]]:
        """Offset and size of each argument of a kernel."""
        key = (params.function or 0, params.kernel or 0)
        known = self._layouts.get(key)
        if known is None:
            known = self._layouts[key] = list(self._ask_layout(*key))
        return known

    def _ask_layout(self, function: int, kernel: int) -> Iterator[tuple[int, int]]:
        offset, size = _size(), _size()
        ask = self._cuda.cuFuncGetParamInfo if function else self._cuda.cuKernelGetParamInfo
        for at in range(1024):
            outs = (ctypes.byref(offset), ctypes.byref(size))
            if ask(_pointer(function or kernel), _size(at), *outs):
                return
            yield offset.value, size.value

    def _name(self, params: _Kernel) -> str:
        key = (params.function or 0, params.kernel or 0)
        known = self._names.get(key)
        if known is None:
            name = ctypes.c_char_p()
            ask = self._cuda.cuFuncGetName if key[0] else self._cuda.cuKernelGetName
            failed = ask(ctypes.byref(name), _pointer(key[0] or key[1]))
            known = self._names[key] = "kernel" if failed else (name.value or b"").decode(errors="replace")
        return known

    def _extra(self, at: int) -> bytes:
        """Arguments that were given as one buffer, as cuBLAS gives them."""
        listed = struct.unpack("5Q", self._read(at, 40).ljust(40, b"\0"))
        pairs = dict(zip(listed[0::2], listed[1::2]))
        length = self._read(pairs.get(_BUFFER_SIZE, 0), 8)
        size = int.from_bytes(length, "little") if len(length) == 8 else 0
        return self._read(pairs.get(_BUFFER, 0), size) if 0 < size <= _LARGEST else b""

    def _read(self, address: int, size: int) -> bytes:
        """Memory of this process; nothing where there is none."""
        try:
            return os.pread(self._own, size, address) if address else b""
        except (OSError, OverflowError):
            return b""


def _side_of(params: _Memcpy, side: str) -> Side:
    def get(name: str) -> int:
        return int(getattr(params, f"{side}_{name}") or 0)

    host = get("kind") == _ON_HOST
    skipped = get("x") + get("pitch") * (get("y") + get("height") * get("z"))
    rows = max(params.height, 1) * max(params.depth, 1)
    size = params.width if rows == 1 else get("pitch") * rows
    return Side(get("host" if host else "device") + skipped, size, side == "target", host)


def _words(raw: bytes) -> tuple[int, ...]:
    return struct.unpack_from(f"{len(raw) // 8}Q", raw)
