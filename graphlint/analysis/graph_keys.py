"""Which of several graphs is replayed: the keys that containers keep graphs by, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import narrowing, tensor_ops
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import change_of, host_parts
from graphlint.analysis.values import (
    Change,
    Const,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Union,
    Unknown,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def deciding(m: Machine) -> set[object]:
    """The host values that choose which graph is captured: keys of membership tests on the way here."""
    keys: set[object] = set()
    for frame in m.frames:
        for condition in frame.conditions:
            keys |= _identities(condition.value)
        for condition in frame.passed:
            keys |= _compared(m, condition.place.node, frame)
    return keys


def _compared(m: Machine, test: ast.AST, frame: Frame) -> set[object]:
    """What a test by which the call would have left compares: `if self.key == key: return`."""
    keys: set[object] = set()
    for part in _compares_in(test):
        for operand in (part.left, *part.comparators):
            value = narrowing.quiet(m, operand, frame)
            keys |= _identities(value) if value is not None else set()
    return keys


@per_node
def _compares_in(test: ast.AST) -> tuple[ast.Compare, ...]:
    """The tests for equality and membership within a test."""
    kinds = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
    compares = (part for part in walk(test) if isinstance(part, ast.Compare))
    return tuple(part for part in compares if isinstance(part.ops[0], kinds))


def _identities(value: Value) -> set[object]:
    """The host identities that a value was made of: of a test those of its key, of a record its fields'."""
    found: set[object] = set()
    if type(value) is Sequence_:
        for element in value.elements():
            found |= _identities(element)
    stack: list[object] = []
    if (sizes := _sizes(value)) is not None:
        found.add(sizes)
    for part in alternatives(value):
        stack.append(identity_of(part))  # whichever of them it is
        if type(part) is Obj and not isinstance(part.cls, str):
            stack.extend(identity_of(held) for held in part.fields.values() if type(held) is Host)
    while stack:
        identity = stack.pop()
        if isinstance(identity, tuple):
            if len(identity) == 2 and identity[0] == "host":
                found.add(identity)
            stack.extend(identity)
    return found


def note_keyed(m: Machine, value: Value, key: Value | None) -> None:
    """A graph is put into a container: it stands for the key, or for the iteration of the loops around."""
    held = held_graphs(value)
    if not held:
        if key is not None:
            _note_records(m, value, key)
        return
    keys = _identities(key) if key is not None else set()
    if key is None:
        for frame in m.frames:
            for loop in frame.loops:
                keys |= _identities(loop.current) if loop.current is not None else set()
    for graph in held:
        _stands_for(graph, keys, key is not None and _is_open(key))
        if key is not None:
            constants = {identity_of(part) for part in host_parts(key) if type(part) is Const}
            graph.fields.setdefault("key constants", set()).update(constants)


def _note_records(m: Machine, value: Value, key: Value) -> None:
    """Records and dicts without a graph are kept under a key: one that they get later stands for that key.

    So does one of a record that the program is given, which may be any of its class.
    """
    for part in alternatives(value):
        if type(part) is Mapping or (type(part) is Obj and isinstance(part.cls, ClassInfo)):
            for name in (part.serial, part.cls) if type(part) is Obj else (part.serial,):
                known, was_open = m.keyed.get(name, (set(), False))
                m.keyed[name] = ({*known, *_identities(key)}, was_open or _is_open(key))


def note_held(m: Machine, owner: Obj | Mapping, value: Value) -> None:
    """A graph is put into a record or dict: it stands for the key under which a table keeps that."""
    is_given = type(owner) is Obj and owner.label == "given"
    if found := m.keyed.get(owner.cls if type(owner) is Obj and is_given else owner.serial):
        for graph in held_graphs(value):
            _stands_for(graph, *found)


def _stands_for(graph: Obj, keys: set[object], is_open: bool) -> None:
    graph.fields.setdefault("keys", set()).update(keys)
    graph.fields["open key"] = graph.fields.get("open key", False) or is_open


def _is_open(key: Value) -> bool:
    """Whether a key changes with the calls and its parts are not known: any number may be out of it."""
    parts = alternatives(key)
    if any(isinstance(part, Sequence_) and (part.rest is not None or _is_open_tuple(part)) for part in parts):
        return change_of(key) is Change.CHANGING
    return any(isinstance(part, Unknown) and part.change is Change.CHANGING for part in parts)


def _is_open_tuple(key: Sequence_) -> bool:
    return any(_is_open(part) for part in key.items)


def has_entry_for(m: Machine, where: Value, item: Value) -> bool:
    """Whether a table has an entry for a size that comes with a call, if a graph of that size is replayed.

    The table holds no graphs itself, and was filled for the configured sizes that graphs are kept by.
    """
    if not isinstance(where, Mapping) or change_of(item) < Change.SHAPE:
        return False
    sizes = {key for capture in m.finished if capture.step < m.step for key in keys_of(capture)}
    filled = [change_of(key) < Change.SHAPE and not held_graphs(held) for key, held in where.entries()]
    return bool(filled) and all(filled) and all(_identities(key) & sizes for key, _ in where.entries())


def held_graphs(value: Value, depth: int = 2) -> list[Obj]:
    """The graphs that a value is, or holds in its fields or items."""
    if type(value) is Union:
        return [graph for part in value.values for graph in held_graphs(part, depth)]
    if type(value) is Obj:
        if value.cls == "torch.cuda.CUDAGraph":
            return [value]
        parts = [v for v in value.fields.values() if isinstance(v, Value)] if depth else []
    elif type(value) is Function:
        parts = [v for v in value.env.fields.values() if isinstance(v, Value)] if value.env and depth else []
    elif type(value) is Sequence_:
        parts = list(value.elements())
    else:
        return []
    return [graph for part in parts for graph in held_graphs(part, depth - 1)] if depth else []


def is_chosen_by(m: Machine, record: Capture, then: Value, now: Value) -> bool:
    """Whether a number that captured code has read chooses the graph, also as one of several known sizes.

    So does a constant in the key of the graph, where what stands in its place now is in that of another one.
    """
    keys = keys_of(record)
    if _sizes(then) in keys or tensor_ops.is_key(keys, then):
        return True
    constants = record.graph.fields.get("key constants", ()) if record.graph is not None else ()
    others = (other for other in m.finished if other.place.key == record.place.key)
    return identity_of(then) in constants and any(tensor_ops.is_key(keys_of(other), now) for other in others)


def _sizes(value: Value) -> tuple[str, frozenset[int]] | None:
    """What stands for a number that is one of several known ones."""
    among = [p.value for p in alternatives(value) if isinstance(p, Const) and type(p.value) is int]
    return ("among", frozenset(among)) if 1 < len(among) == len(alternatives(value)) else None


def keys_of(record: Capture) -> set[object]:
    """The identities of the host values that choose a capture's graph."""
    return record.keys | (record.graph.fields.get("keys", set()) if record.graph is not None else set())
