"""Locals of functions that are running: found again on the stack, without keeping anything alive."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FrameType
from typing import Any

from graphlint.sentinel.origins import is_program

MISSING = object()
_OPTIMIZED, _STARRED, _DOUBLE_STARRED = 0x01, 0x04, 0x08


class _Mark:
    """Tells one run of a function from the next, which may have its frame at the same address."""

    __slots__ = ("__weakref__",)

    def __call__(self, *_: Any) -> None:
        """A frame holds it where it would hold what traces it; it is not called unless something traces."""


_marks: weakref.WeakKeyDictionary[_Mark, int] = weakref.WeakKeyDictionary()
_next_mark = itertools.count(1)


def _run_of(frame: FrameType) -> int:
    """A number for this run of a function, for as long as it runs."""
    if frame.f_trace is None and sys.gettrace() is None:
        frame.f_trace = mark = _Mark()
        _marks[mark] = next(_next_mark)
    return _known_run(frame)


def _known_run(frame: FrameType) -> int:
    mark = frame.f_trace
    if isinstance(mark, _Mark):
        return _marks.get(mark, 0)
    return 0 if mark is None and sys.gettrace() is None else -id(frame)  # traced: the address has to do


_local = threading.local()
_Frames = list[tuple[CodeType, int, Callable[[], dict[str, Any]]]]


def _stack() -> _Frames:
    """The program's frames with the numbers of their runs, and what reads their locals when it is asked."""
    found: _Frames = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if is_program(frame.f_code):
            values = functools.lru_cache(None)(functools.partial(locals_of, frame))
            found.append((frame.f_code, _known_run(frame), values))
        frame = frame.f_back
    return found


@contextlib.contextmanager
def stack_locals() -> Iterator[None]:
    """Have the frames walked once for all that is looked up in the block."""
    _local.frames = _stack()
    try:
        yield
    finally:
        _local.frames = None


def _frames() -> _Frames:
    held: _Frames | None = getattr(_local, "frames", None)
    return _stack() if held is None else held


class FrameRoot:
    """A local of a function while it runs."""

    __slots__ = ("code", "name", "run")

    def __init__(self, frame: FrameType, name: str) -> None:
        self.code: CodeType = frame.f_code
        self.run = _run_of(frame)
        self.name = name

    def __call__(self) -> Any:
        for code, run, values in _frames():
            if code is self.code and run == self.run:
                return values().get(self.name, MISSING)
        return MISSING

    @property
    def is_argument(self) -> bool:
        code = self.code
        starred = bool(code.co_flags & _STARRED) + bool(code.co_flags & _DOUBLE_STARRED)
        return self.name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]


class LaterCall:
    """An argument of another call of the function that had it at capture."""

    __slots__ = ("of",)

    def __init__(self, of: FrameRoot) -> None:
        self.of = of

    def __call__(self) -> Any:
        for code, run, values in _frames():
            if code is self.of.code and run != self.of.run:
                return values().get(self.of.name, MISSING)
        return MISSING


class GlobalRoot:
    """A global of a program that is no module, while it is on the stack."""

    __slots__ = ("name", "namespace")

    def __init__(self, frame: FrameType, name: str) -> None:
        self.namespace = id(frame.f_globals)
        self.name = name

    def __call__(self) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if id(frame.f_globals) == self.namespace:
                return frame.f_globals.get(self.name, MISSING)
            frame = frame.f_back
        return MISSING


def content_of(cell: CellType) -> Any:
    """What a cell of a closure holds, None if nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def has_locals(frame: FrameType) -> bool:
    """Whether a frame is that of a function, and not of a module or a class."""
    return bool(frame.f_code.co_flags & _OPTIMIZED)


def locals_of(frame: FrameType) -> dict[str, Any]:
    """A frame's locals, without leaving the copy behind that older versions of Python keep in the frame."""
    view = frame.f_locals
    held = dict(view)
    if has_locals(frame) and sys.version_info < (3, 13):
        view.clear()
    return held
