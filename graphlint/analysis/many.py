"""One of very many objects: what can be said of it although its classes are not followed one by one.

A method that captures or replays is looked for in all of them, since only those matter to a graph; a field
has the type that a class above all of them declares. Where an abstract class itself stands for its many
subclasses, its own fields and methods are followed, but for those that a subclass may replace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import attributes, class_members, hints
from graphlint.analysis.classes import ClassInfo, Def
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.own_text import text_of
from graphlint.analysis.values import (
    MAX_ALTERNATIVES,
    Change,
    Const,
    Host,
    Obj,
    Unknown,
    Value,
    join,
    join_all,
)
from graphlint.facts import nodes as ast

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


def is_open(cls: ClassInfo, info: ClassInfo, method: Def) -> bool:
    """Whether one of the very many classes that `cls` stands for may replace a method."""
    stands_for = cls.implementations or []
    if len(stands_for) <= MAX_ALTERNATIVES:
        return False
    return any(each.find(method.name) != (info, method) for each in stands_for)


def loosen(m: Machine, owner: Obj) -> None:
    """The constants that an abstract class gives its many subclasses may be others in them."""
    assert isinstance(owner.cls, ClassInfo)
    if len(owner.cls.implementations or []) > MAX_ALTERNATIVES and owner.label == "given":
        for name, value in list(owner.fields.items()):
            if isinstance(value, Const):
                open_value = Host(type(value.value).__name__)
                other = Unknown("field of very many classes") if value.value is None else open_value
                m.heap.write(owner.fields, name, join(value, other) if value.value is None else other)


def declared(m: Machine, cls: ClassInfo, info: ClassInfo, method: Def, place: Place) -> Value:
    """What a method that may be replaced gives: of a property, and of a call, what its annotation says."""
    unknown = Unknown(f"more than eight classes stand for `{cls.name}`")
    if method.returns is None:
        return unknown
    returns = hints.value_of(m, method.returns, info.module, Change.CONFIG, place)
    if class_members.is_property(method):
        return unknown if isinstance(returns, Unknown) else returns
    if not isinstance(returns, Obj) or isinstance(returns.cls, str):
        return unknown
    made = Obj("typed-callable", place)
    made.fields["returns"] = returns
    return made
