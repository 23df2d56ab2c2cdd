"""Every mutable thing that captured Python can reach: attributes, items, globals and closures.

The walk starts at names of a frame. Modules count with their globals when code of the program is reached
that lives there; instances of libraries count with their attributes; classes of the program with theirs. What
torch keeps in C++ does not count, tensors are leaves.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from graphlint.sentinel.origins import has_own_state, is_own_module

LIMIT = 20_000  # owners; what lies beyond is not looked at
_LONGEST = 10_000  # items of one container
ATOMS = (type(None), bool, int, float, complex, str, bytes)
_LEAVES = (
    *ATOMS,
    torch.Tensor,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.Generator,
    torch.UntypedStorage,
    range,
    slice,
)
_FOREIGN = (
    "torch.cuda",
    "torch._",
    "torch.fx",
    "torch.distributed",
    "torch.utils._",
    "torch.autograd",
    "logging",
    "threading",
    "_thread",
    "_io",
    "re",
    "ast",
    "inspect",
    "concurrent",
    "multiprocessing",
    "asyncio",
    "contextlib",
    "weakref",
    "pytest",
    "_pytest",
    "pluggy",
    "graphlint.sentinel",
)
_HIDDEN = (".__dict__", "._parameters", "._buffers", "._modules")


@dataclass(slots=True, eq=False)
class Owner:
    """Something with named places: `held` is the dict, list, set or object that changes with them."""

    held: Any
    path: str
    attributes: bool
    instance: Any = None  # whose attributes these are

    def items(self) -> Iterator[tuple[Any, str, Any]]:
        """Its places: the key, the path as the program would write it, and what is there."""
        for key, value in places(self.held):
            yield key, self._spelled(key), value

    def put(self, key: Any, value: Any) -> None:
        """Let one place hold something else; raises TypeError where that cannot be."""
        if isinstance(self.held, CellType):
            self.held.cell_contents = value
        else:
            self.held[key] = value

    def _spelled(self, key: Any) -> str:
        if not self.attributes:
            return f"{self.path}[{key!r}]" if isinstance(key, (str, int)) else f"{self.path}[...]"
        if not self.path or key == "":
            return f"{self.path}{key}"
        return f"{_shortened(f'{self.path}.')}{key}"


def places(held: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dict, list or set, the content of a cell."""
    if isinstance(held, dict):
        return list(held.items())
    if isinstance(held, (list, tuple, deque)):
        return list(enumerate(held))
    if isinstance(held, CellType):
        try:
            return [("", held.cell_contents)]
        except ValueError:
            return []
    return []


class Walk:
    """Visits everything once, nearest first; `owners` and `tensors` are what it found.

    `tensors` maps a path to a tensor, `generators` are random generators on the way.
    """

    def __init__(self, names: Mapping[str, Any], module: Mapping[str, Any] | None = None) -> None:
        self.owners: list[Owner] = []
        self.tensors: dict[str, torch.Tensor] = {}
        self.generators: list[torch.Generator] = []
        self._seen: set[int] = set()
        self._queue: deque[tuple[str, Any]] = deque(names.items())
        self._keep: list[Any] = []
        self.owners.append(SlotOwner(names, "", True, None, dict(names)))
        if module is not None:
            self._add_module(module)
        while self._queue and len(self.owners) <= LIMIT:
            self._visit(*self._queue.popleft())

    def places(self) -> Iterator[tuple[Owner, Any, str, Any]]:
        """Every place: its owner, its key there, its path, and what it holds."""
        for owner in self.owners:
            for key, path, value in owner.items():
                yield owner, key, path, value

    def _visit(self, path: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self.tensors.setdefault(path, value)
        elif isinstance(value, torch.Generator):
            self.generators.append(value)
        if isinstance(value, _LEAVES) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        for kinds, visit in self._KINDS:
            if isinstance(value, kinds):
                visit(self, path, value)
                return
        self._instance(path, value)

    def _container(self, path: str, value: Any) -> None:
        if len(value) <= _LONGEST:
            self._add(Owner(value, path, attributes=path.endswith(_HIDDEN)))

    def _function(self, path: str, value: Any) -> None:
        for cell, name in zip(value.__closure__ or (), value.__code__.co_freevars):
            self._cell(name, cell)
        for default in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            self._queue.append((path, default))
        if has_own_state(value.__code__.co_filename):
            self._add_module(value.__globals__)

    def _cell(self, name: str, cell: Any) -> None:
        if id(cell) not in self._seen:
            self._seen.add(id(cell))
            self._add(Owner(cell, name, attributes=True))

    def _method(self, path: str, value: Any) -> None:
        self._queue.append((path, value.__self__))
        self._queue.append((path, value.__func__))

    def _partial(self, path: str, value: Any) -> None:
        self._queue.extend((path, part) for part in (value.func, *value.args, *value.keywords.values()))

    def _class(self, path: str, value: Any) -> None:
        module = sys.modules.get(value.__module__)
        if not is_own_module(module):
            return
        self._add_module(vars(module))
        self._own(dict(_state_of_class(value)), value.__qualname__, value)

    def _module(self, path: str, value: Any) -> None:
        if is_own_module(value):
            self._add_module(vars(value))

    def _instance(self, path: str, value: Any) -> None:
        if type(value).__module__.startswith(_FOREIGN):
            return
        self._queue.append((type(value).__qualname__, type(value)))
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self._keep.append(own)
            self._seen.add(id(own))
            self._add(Owner(own, path, True, value))
        slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
        if slots:
            present = {name: getattr(value, name) for name in slots if hasattr(value, name)}
            self._own(present, path, value)

    def _own(self, present: dict[str, Any], path: str, value: Any) -> None:
        self.owners.append(SlotOwner(value, path, True, None, present))
        self._queue.extend((f"{path}.{name}", held) for name, held in present.items())

    def _add_module(self, namespace: Mapping[str, Any]) -> None:
        if id(namespace) in self._seen:
            return
        self._seen.add(id(namespace))
        state = {name: value for name, value in namespace.items() if _is_state(name, value)}
        self.owners.append(SlotOwner(namespace, "", True, None, state))
        self._queue.extend(state.items())

    def _add(self, owner: Owner) -> None:
        self.owners.append(owner)
        self._queue.extend((path, value) for _, path, value in owner.items())

    _KINDS: tuple[tuple[Any, Callable[[Walk, str, Any], None]], ...] = (
        ((dict, list, tuple, deque, set, frozenset), _container),
        (FunctionType, _function),
        (MethodType, _method),
        (functools.partial, _partial),
        (type, _class),
        (CellType, _cell),
        (ModuleType, _module),
    )


@dataclass(slots=True, eq=False)
class SlotOwner(Owner):
    """An object whose named places are listed: slots, the state of a class, the globals of a module."""

    present: dict[str, Any] = field(default_factory=dict)

    def items(self) -> Iterator[tuple[Any, str, Any]]:
        for key, value in self.present.items():
            yield key, self._spelled(key), value

    def put(self, key: Any, value: Any) -> None:
        if isinstance(self.held, dict):
            self.held[key] = value
        else:
            setattr(self.held, key, value)


@functools.lru_cache(maxsize=1024)
def _shortened(path: str) -> str:
    for part in _HIDDEN:
        path = path.replace(f"{part}.", ".")
    return path


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else list(slots)


def _state_of_class(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if _is_state(name, value):
            yield name, value


def _is_state(name: str, value: Any) -> bool:
    if name.startswith("__"):
        return False
    return not isinstance(
        value, (ModuleType, type, staticmethod, classmethod, property, functools.cached_property)
    ) and (isinstance(value, FunctionType) or not callable(value) or hasattr(value, "__dict__"))
