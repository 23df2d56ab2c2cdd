"""One of very many objects: what can be said of it although its classes are not followed one by one.

A method that captures or replays is looked for in all of them, since only those matter to a graph; a field
has the type that a class above all of them declares.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from graphlint.analysis import attributes, hints
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.roots import text_of
from graphlint.analysis.values import MAX_ALTERNATIVES, Obj, Unknown, Value, join_all

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def get(m: Machine, owner: Unknown, name: str, node: ast.AST, frame: Frame) -> Value | None:
    """The attribute `name` of one of very many objects; None when nothing can be said."""
    if not owner.among:
        return None
    graphs = [each for each in owner.among if _is_about_graphs(each, name)]
    if graphs:
        return join_all(attributes.get(m, each, name, node, frame) for each in graphs[:MAX_ALTERNATIVES])
    for info in _shared(owner.among):
        if name in info.annotations:
            return hints.value_of(m, info.annotations[name], info.module, owner.change, frame.place(node))
    return None


def _is_about_graphs(owner: Obj, name: str) -> bool:
    """Whether a method makes a graph, captures or replays."""
    assert isinstance(owner.cls, ClassInfo)
    found = owner.cls.find(name)
    if found is None:
        return False
    text = text_of(found[1])
    return text.captures or text.replays or "CUDAGraph" in text.names


def _shared(objects: tuple[Obj, ...]) -> list[ClassInfo]:
    """The classes that all objects are instances of, the most derived first."""
    orders = [list(each.cls.mro()) for each in objects if isinstance(each.cls, ClassInfo)]
    return [info for info in orders[0] if all(info in order for order in orders[1:])]
