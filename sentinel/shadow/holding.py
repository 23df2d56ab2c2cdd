"""The names of a captured body, remembered without keeping a tensor or an object of the program alive."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from graphlint.sentinel.hoststate.living import living, weakly
from graphlint.sentinel.hoststate.walk import ATOMS
from graphlint.sentinel.origins import is_own_module
from graphlint.sentinel.shadow.statements import NotRunnable
from graphlint.sentinel.trials.writes import view_of
from graphlint.sentinel.watching.runs import content_of, locals_of

Recall = Callable[[], Any]
_DEEPEST_CONTAINER = 8
_DEEPEST_FUNCTION = (
    4  # a local function that calls itself is in its own closure; below, a weak reference does
)


class Gone(Exception):
    """What a name led to no longer exists."""


def held(value: Any, depth: int = 0) -> Recall:
    """A way back to a value, that does not keep it alive. It raises Gone when the value is gone."""
    if isinstance(value, ATOMS) or not gc.is_tracked(value) or isinstance(value, (type, types.ModuleType)):
        return lambda: value
    if isinstance(value, types.MethodType):
        return _method(value, depth)
    if type(value) in (list, tuple, dict) and depth < _DEEPEST_CONTAINER:
        return _container(value, depth)
    if isinstance(value, types.FunctionType) and depth < _DEEPEST_FUNCTION:
        return _function(value, depth)
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if _is_plain(value, 0):
        return lambda: value
    reference = weakly(value)
    return _weak(reference) if reference is not None else lambda: value


def _is_plain(value: Any, depth: int) -> bool:
    """Whether an object is a handful of numbers and texts, which may live on unnoticed."""
    if isinstance(value, ATOMS):
        return True
    if depth > 2 or hasattr(type(value), "__del__") or not _is_of_program(type(value)):
        return False
    held_there = getattr(value, "__dict__", None)
    return isinstance(held_there, dict) and all(_is_plain(item, depth + 1) for item in held_there.values())


def _is_of_program(kind: type) -> bool:
    """Whether a class is the program's own."""
    module = sys.modules.get(kind.__module__)
    return is_own_module(module)


def _tensor(value: torch.Tensor) -> Recall:
    """A tensor, or one like it while its memory lives: views are made anew by every call."""
    reference = weakref.ref(value)
    if type(value) is not torch.Tensor or value.requires_grad or value.layout != torch.strided:
        return _weak(reference)
    memory = weakref.ref(value.untyped_storage())
    shape, stride, offset, kind = value.shape, value.stride(), value.storage_offset(), value.dtype

    def recall() -> Any:
        if (alive := living(reference)) is not None:
            return alive
        storage = living(memory)
        if storage is None:
            raise Gone
        return view_of(storage, kind, shape, stride, offset)

    return recall


def _weak(reference: weakref.ref[Any]) -> Recall:
    def recall() -> Any:
        found = living(reference)
        if found is None:
            raise Gone
        return found

    return recall


def _method(value: types.MethodType, depth: int) -> Recall:
    owner, function = held(value.__self__, depth + 1), value.__func__
    return lambda: types.MethodType(function, owner())


def _container(value: Any, depth: int) -> Recall:
    if isinstance(value, dict):
        items = {key: held(item, depth + 1) for key, item in value.items()}
        return lambda: {key: item() for key, item in items.items()}
    kind = type(value)
    parts = [held(item, depth + 1) for item in value]
    return lambda: kind([part() for part in parts])


def _function(value: types.FunctionType, depth: int) -> Recall:
    """The function if it lives, else one like it: a local function dies with the call that made it."""
    reference = weakref.ref(value)
    code, module, name = value.__code__, value.__globals__, value.__name__
    cells = [held(content_of(cell), depth + 1) for cell in value.__closure__ or ()]
    defaults = [held(item, depth + 1) for item in value.__defaults__ or ()]
    keywords = value.__kwdefaults__

    def recall() -> Any:
        if (alive := living(reference)) is not None:
            return alive
        closure = tuple(types.CellType(cell()) for cell in cells)
        made = types.FunctionType(code, module, name, tuple(item() for item in defaults), closure)
        made.__kwdefaults__ = keywords
        return made

    return recall


class Names:
    """The locals of a capturing frame as they were, and as they are while the frame is alive."""

    def __init__(self, names: Mapping[str, Any], frame: types.FrameType) -> None:
        self._then = {name: held(value) for name, value in names.items()}
        self._frame, self._code = id(frame), frame.f_code
        self._module = frame.f_globals if frame.f_code.co_name == "<module>" else None
        self._function = _function_of(frame)

    def then(self, name: str) -> Any:
        """What a name led to when the capture began."""
        return self._then[name]()

    def now(self, frame: types.FrameType | None) -> Mapping[str, Any]:
        """What the names lead to now, as far as that can be told; `frame` is where the program is."""
        if self._module is not None:
            return self._module
        while frame is not None:
            if id(frame) == self._frame and frame.f_code is self._code:
                return locals_of(frame)
            frame = frame.f_back
        return self._of_closure()

    def _of_closure(self) -> dict[str, Any]:
        function = self._function() if self._function is not None else None
        if function is None or function.__closure__ is None:
            return {}
        return dict(zip(function.__code__.co_freevars, map(content_of, function.__closure__)))

    def __iter__(self) -> Any:
        return iter(self._then)


def _function_of(frame: types.FrameType) -> weakref.ref[Any] | None:
    """The function object that a frame runs, if it has free variables and can be told."""
    code = frame.f_code
    if not code.co_freevars:
        return None
    names = locals_of(frame)
    for candidate in gc.get_referrers(code):
        if isinstance(candidate, types.FunctionType) and candidate.__closure__ is not None:
            cells = zip(code.co_freevars, map(content_of, candidate.__closure__))
            if all(names.get(name) is content for name, content in cells):
                return weakref.ref(candidate)
    return None


def gone(name: str) -> NotRunnable:
    """Why a body cannot run without a name."""
    return NotRunnable(f"`{name}`, a local name that its body uses, is gone")
