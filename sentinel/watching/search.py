"""Where the program keeps its tensors: attributes, items, parameters, locals.

The search goes forward from the frames of the capture, so that what it finds has the program's own name
(`self.runner.inputs["ids"]`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from graphlint.sentinel.core.events import Kind
from graphlint.sentinel.watching.runs import (
    FrameRoot,
    GlobalRoot,
    LaterCall,
    content_of,
    has_locals,
    locals_of,
)
from graphlint.sentinel.watching.slots import Found, Root, Slot, Step

_MOST = 20_000  # objects that one search looks into
_LONGEST = 2_000  # items of one container
_DEEPEST = 4  # levels of containers that an argument is looked for in
_MOST_GIVEN = 64  # items of each of them
_KEYS = (str, int, tuple, bool, type(None), torch.dtype)
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, ModuleType, torch.dtype, torch.device)
_QUICKLY_PLAIN = frozenset(_PLAIN)
_CONTAINERS = frozenset((dict, list, tuple, deque, set, frozenset, OrderedDict, defaultdict))
_WITHOUT_REFERENCES = (dict, list, tuple, CellType)


class Search:
    """One walk over what the program can reach from its frames; each object once, the shortest way first."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._queue: deque[tuple[Any, str, Root, tuple[Step, ...]]] = deque()
        self._found: list[tuple[torch.Tensor, Slot]] = []
        self._enters: dict[type, bool] = {}

    def tensors(self, frames: list[FrameType]) -> list[tuple[torch.Tensor, Slot]]:
        """Every tensor that is found, with where it is kept. A tensor that is kept twice comes twice."""
        for frame in frames:
            self._locals(frame)
        for frame in frames:
            self._globals(frame)
        while self._queue and len(self._seen) < _MOST:
            value, text, root, steps = self._queue.popleft()
            for child, name, kind, step in _children(value):
                if self._matters(child):
                    self._meet(child, _joined(text, name, kind), kind, root, (*steps, step))
        return self._found

    def _matters(self, value: Any) -> bool:
        """Whether something new may be found in it; most of what a module has is empty."""
        kind = type(value)
        if kind in _QUICKLY_PLAIN or (kind in _CONTAINERS and not value):
            return False
        return id(value) not in self._seen or issubclass(kind, torch.Tensor)

    def _locals(self, frame: FrameType) -> None:
        if not has_locals(frame):
            return
        for name, value in locals_of(frame).items():
            self._meet(value, name, "local", FrameRoot(frame, name), ())

    def _globals(self, frame: FrameType) -> None:
        module = sys.modules.get(frame.f_globals.get("__name__", ""))
        if id(frame.f_globals) in self._seen:
            return
        self._seen.add(id(frame.f_globals))
        if module is not None and vars(module) is frame.f_globals:
            root: Root = weakref.ref(module)
            for name, value in list(frame.f_globals.items()):
                self._meet(value, name, "global", root, (("attribute", name),))
        else:
            for name, value in list(frame.f_globals.items()):
                self._meet(value, name, "global", GlobalRoot(frame, name), ())

    def _meet(self, value: Any, text: str, kind: Kind, root: Root, steps: tuple[Step, ...]) -> None:
        if isinstance(value, _PLAIN):
            return
        if issubclass(type(value), torch.Tensor):
            self._found.append((value, Slot(text, kind, root, steps)))
            if id(value) not in self._seen:
                self._seen.add(id(value))
                self._gradient(value, text)
            return
        if id(value) in self._seen or not self._may_enter(value):
            return
        self._seen.add(id(value))
        if type(value) not in _WITHOUT_REFERENCES:
            with contextlib.suppress(TypeError):
                root, steps = weakref.ref(value), ()
        self._queue.append((value, text, root, steps))

    def _may_enter(self, value: Any) -> bool:
        kind = type(value)
        if kind not in self._enters:
            self._enters[kind] = _may_enter(value)
        return self._enters[kind]

    def _gradient(self, tensor: torch.Tensor, text: str) -> None:
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            gradient = tensor.grad if tensor.is_leaf and tensor.requires_grad else None
        if gradient is not None:
            slot = Slot(f"{text}.grad", "gradient", weakref.ref(tensor), (("gradient", None),))
            self._found.append((gradient, slot))


def _may_enter(value: Any) -> bool:
    kind = type(value)
    if kind in (dict, list, tuple, deque, FunctionType, MethodType, functools.partial, CellType):
        return True
    if isinstance(value, (torch.nn.Module, dict, list, tuple)):
        return True
    return not (kind.__module__ or "").startswith(_CLOSED)


_CLOSED = (
    "torch",
    "graphlint.sentinel",
    "builtins",
    "threading",
    "logging",
    "_pytest",
    "pluggy",
    "_thread",
    "re",
    "weakref",
)


def _children(value: Any) -> Iterator[tuple[Any, str, Kind, Step]]:
    if isinstance(value, dict):
        yield from _items(value)
    elif isinstance(value, (list, tuple, deque)):
        for at, child in enumerate(list(value)[:_LONGEST]):
            yield child, str(at), "item", ("item", at)
    elif isinstance(value, FunctionType):
        for at, cell in enumerate(value.__closure__ or ()):
            yield content_of(cell), value.__code__.co_freevars[at], "attribute", ("cell", at)
    elif isinstance(value, MethodType):
        yield value.__self__, "__self__", "attribute", ("self", None)
    else:
        yield from _attributes(value)


def _items(value: dict[Any, Any]) -> Iterator[tuple[Any, str, Kind, Step]]:
    for key, child in list(value.items())[:_LONGEST]:
        if isinstance(key, _KEYS):
            yield child, repr(key), "item", ("item", key)


def _attributes(value: Any) -> Iterator[tuple[Any, str, Kind, Step]]:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return
    if not isinstance(own, dict):
        return
    module = isinstance(value, torch.nn.Module)
    for name, child in list(own.items()):
        if module and name in ("_parameters", "_buffers", "_modules") and isinstance(child, dict):
            for inner, held in list(child.items()):
                yield held, str(inner), "parameter", ("registered", (name, inner))
        elif isinstance(name, str):
            yield child, name, "attribute", ("attribute", name)


def _joined(text: str, name: str, kind: Kind) -> str:
    return f"{text}[{name}]" if kind == "item" else f"{text}.{name}"


def arguments(frames: list[FrameType]) -> Found:
    """The tensors that the calls going on were given, as later calls of the same functions give others."""
    found: Found = []
    for frame in frames:
        for name, value in locals_of(frame).items() if has_locals(frame) else ():
            root = FrameRoot(frame, name)
            if root.is_argument:
                _given(found, value, name, LaterCall(root), ())
    return found


def _given(found: Found, value: Any, text: str, root: Root, steps: tuple[Step, ...]) -> None:
    if issubclass(type(value), torch.Tensor):
        found.append((value, Slot(text, "argument", root, steps)))
    elif type(value) in (dict, list, tuple) and len(steps) < _DEEPEST:
        for child, name, kind, step in itertools.islice(_children(value), _MOST_GIVEN):
            _given(found, child, _joined(text, name, kind), root, (*steps, step))
