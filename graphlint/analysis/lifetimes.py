"""What still holds the memory that a graph reads: names, objects, closures, or nothing any more.

When a call returns, what it has made and handed to nobody dies. A graph keeps the addresses alone, so that a
graph which outlives the call reads memory that the allocator gives to somebody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphlint.analysis import tensor_ops
from graphlint.analysis.events import InputFreed
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    Class,
    Const,
    Env,
    External,
    Function,
    Host,
    Mapping,
    Module,
    Obj,
    Partial,
    Sequence_,
    Storage,
    Tensor,
    Union,
    Unknown,
    Value,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

MOST_VALUES = 4000
HOLDING_NOTHING = frozenset({Const, Host, Class, Module, str, int, bool, type(None)})
GIVEN_AWAY = "objects given to something unknown"
# Weights are held by autograd as well; memory that a cache owns dies when the cache is cleared.
OWNED: frozenset[str] = frozenset({"parameter", "buffer", "gradient", "assumed"})
HELD = OWNED | {"argument", "opaque"}  # by something besides the program's names


def at_return(m: Machine, frame: Frame, given: tuple[Value, ...], since: int) -> None:
    """A call returns: tensors of its own that graphs captured since then read die, if nothing holds them."""
    captures = [capture for capture in m.finished[since:] if records_addresses(capture)]
    named = [(name, t) for name, v in frame.env.fields.items() for t in _tensors(m, v)]
    own = {t.storage: name for name, t in named if _is_made_in(t, frame)}
    if not own or not captures or m.captures:
        return
    alive = Reach(m)
    alive.walk([*frame.returned, *given, *frame.env.parents(), *roots_of(m)])
    if alive.spent:
        return
    for capture in captures:
        if capture.graph is None or capture.graph.serial not in alive.objects:
            continue
        for storage in sorted(own.keys() & capture.storages.keys(), key=lambda each: each.serial):
            if storage not in alive.storages and storage not in m.escaped and storage.site is not None:
                used, place = capture.storages[storage], _bound_at(frame, own[storage], storage.site)
                m.emit(InputFreed(place=place, storage=storage, recorded=capture, used=used))


def _bound_at(frame: Frame, name: object, site: Place) -> Place:
    """Where a call names memory that it, or something that it has called, has made."""
    if frame.function is None or site.function == frame.qualname:
        return site
    for node in walk(frame.function.node):
        if type(node) is ast.Assign and any(name in _names_in(target) for target in node.targets):
            return frame.place(node)
    return site


def at_clear(m: Machine, held: Value, place: Place) -> None:
    """A cache was emptied: tensors that only it held die."""
    alive = Reach(m)
    alive.walk(roots_of(m))
    for capture in m.finished:
        for tensor in tensors_in(held):
            storage = tensor.storage
            used = capture.storages.get(storage)
            if used is None or not records_addresses(capture) or alive.spent:
                continue
            if storage not in alive.storages and storage not in m.escaped:
                m.emit(InputFreed(place=place, storage=storage, recorded=capture, used=used))


def note_escape(m: Machine, values: Iterable[Value]) -> None:
    """Values were given to something that cannot be followed, which may keep them."""
    for value in values:
        m.escaped.update(tensor.storage for tensor in tensors_in(value))
        if type(value) is Obj:
            m.memo.setdefault(GIVEN_AWAY, []).append(value)


def hangs_on_names(storage: Storage) -> bool:
    """Whether memory lives only as long as the program names it."""
    return storage.graph is None and storage.site is not None and storage.owner not in HELD


def records_addresses(capture: Capture) -> bool:
    """Whether nothing but the program holds the inputs of the graph."""
    return not capture.compiled and capture.kind in ("torch.cuda.graph", "capture_begin", "begin_capture")


def _tensors(m: Machine, value: object) -> Sequence[Tensor]:
    moved = tensor_ops.moved_tensor(m, value) if isinstance(value, Value) else None
    if moved is not None:
        return (moved,)
    return tensors_in(value, 2) if isinstance(value, Value) else ()


def _is_made_in(tensor: Tensor, frame: Frame) -> bool:
    storage = tensor.storage
    if storage.graph is not None or storage.owner in OWNED or storage.device not in ("cuda", "pinned", None):
        return False
    site = storage.site
    if site is None or site.module is not frame.module:
        return False
    return site.function == frame.qualname or storage.serial > frame.born


def roots_of(m: Machine) -> list[Any]:
    """Everything that names something now: calls in progress, modules, classes, objects lived through."""
    return [
        *(frame.env for frame in m.frames),
        *(held for frame in m.frames for held in _held_from_outside(frame)),
        *(value for frame in m.frames for value in frame.returned),
        *m.module_envs.values(),
        *(value for info in m.classes.values() for value in info.values.values()),
        *m.instances.values(),
    ]


def _held_from_outside(frame: Frame) -> Iterable[Any]:
    """What a call in progress may still ask of enclosing calls: the names that its text mentions."""
    return _closed_over(frame.function) if frame.function is not None else frame.env.parents()


class Reach:
    """The memory and the objects that can be reached from some values."""

    def __init__(self, m: Machine) -> None:
        self._machine = m
        self.storages: set[Storage] = set()
        self.objects: set[int] = set()
        self.spent = False
        self._seen: dict[int, Any] = {}

    def walk(self, roots: Iterable[Any]) -> None:
        stack = list(roots)
        while stack and not self.spent:
            part = stack.pop()
            if id(part) in self._seen:
                continue
            self._seen[id(part)] = part
            self.spent = len(self._seen) > MOST_VALUES
            if type(part) not in HOLDING_NOTHING:
                stack.extend(self._parts(part))

    def _parts(self, part: Any) -> list[Any]:
        """What a value holds directly."""
        if type(part) is Tensor:
            self.storages.add(part.storage)
            return list(self._machine.fields_of_tensor(part).values())
        elif _holds_weakly(part):
            return []
        elif type(part) is Obj:
            self.objects.add(part.serial)
            return list(part.fields.values())
        elif isinstance(part, (Sequence_, Mapping, Env)):
            return list(part.fields.values())
        elif isinstance(part, (tuple, list)):
            return list(part)
        elif type(part) is Union:
            return list(part.values)
        elif type(part) is Partial:
            return [part.function, *part.args, *part.kwargs.values()]
        elif type(part) is External:
            return [part.owner] if part.owner is not None else []
        elif type(part) is Function:
            return [*_closed_over(part), *self._machine.fields_of(part).values()]
        elif type(part) is Unknown:
            self.spent = self.spent or "alternatives" in part.reason
            moved = tensor_ops.moved_tensor(self._machine, part)
            return [moved] if moved is not None else []
        return []


def _holds_weakly(part: Any) -> bool:
    """Whether what is reached through a value does not live because of it."""
    return (type(part) is Mapping and part.weak) or (type(part) is Obj and part.cls == "weakref")


@summary
def _names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(part.id for part in walk(node) if type(part) is ast.Name)


def _closed_over(function: Function) -> list[Any]:
    """What a function holds: its object, its defaults and the names of enclosing calls that it mentions."""
    held: list[Any] = [function.self_value, *(function.defaults or {}).values()]
    names = _names_in(function.node)
    env = function.env
    while env is not None:
        held += [value for name, value in env.fields.items() if name in names]
        env = env.parent
    return held
