"""`return`: what leaves a function, and whether it is memory that the next replay writes again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis import (
    expressions,
    functions,
    outputs,
)
from graphlint.analysis.events import Returned
from graphlint.analysis.frames import Frame
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    NONE,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Value,
    is_none,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run(m: Machine, node: ast.Return, frame: Frame) -> None:
    value = expressions.evaluate(m, node.value, frame) if node.value is not None else NONE
    if not frame.reachable:
        return  # the expression certainly raised
    if not m.captures:
        _announce_return(m, node, value, frame)
    frame.returned.append(value)
    outputs.note_received(m, value, frame)
    functions.leave(m, frame)


def _announce_return(m: Machine, node: ast.Return, value: Value, frame: Frame) -> None:
    aliases = tuple(t for t in tensors_in(value) if t.stamp and t.storage.graph is not None)
    if aliases and node.value is not None:
        for tensor in aliases:
            outputs.check_stale(m, tensor, frame.place(node))
        copied = {True, False} <= _copied_parts(value) and not _is_made_by_others(m, frame)
        place = frame.place(node)
        m.emit(Returned(place=place, value=value, aliases=aliases, copied=copied, root=frame.call is None))


def _is_made_by_others(m: Machine, frame: Frame) -> bool:
    """Whether a method is of a class that the project makes objects of: its results are judged there."""
    cls = frame.function.cls if frame.function is not None else None
    return cls is not None and bool(m.project.calling_paths(cls.name))


def _copied_parts(value: Value, depth: int = 3) -> set[bool]:
    """Whether the parts of what is returned are copies; a part that may be one or not says nothing."""
    if isinstance(value, Tensor):
        return {value.storage.owner == "copy"}
    if isinstance(value, Union):
        found = [_copied_parts(part, depth) for part in value.values if not is_none(part)]
        return found[0] if found and all(each == found[0] for each in found) else set()
    parts: Iterable[Value] = ()
    if isinstance(value, Sequence_):
        parts = value.elements()
    elif isinstance(value, Mapping):
        parts = [part for _, part in value.entries()]
    elif isinstance(value, Obj):
        parts = [part for part in value.fields.values() if isinstance(part, Value)]
    return {kind for part in parts if depth for kind in _copied_parts(part, depth - 1)}
