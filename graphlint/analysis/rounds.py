"""Counters of rounds: `self.calls += 1; if self.calls <= self.warmups: return self.run(x)`.

A program that captures in its tenth round is not followed for ten rounds. From the second round on the count
is a number that is not known, so that what it decides is tried both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import narrowing, own_text
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Change, Const, Fields, Function, Host, Obj, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def open_count(m: Machine, test: ast.expr, value: Value, frame: Frame) -> bool:
    """Whether a test of a count keeps a function from its capture; the count is unknown from then on.

    Only where a capture can follow, and none has followed so far.
    """
    if m.captures or type(value) is not Const or not isinstance(value.value, bool):
        return False
    function = frame.function
    asked = _asked(test)
    if function is None or not asked or not _leads_to_capture(function) or _has_captured(m, function):
        return False
    counts = [found for node in asked if (found := _count(m, test, node, frame)) is not None]
    for fields, key in counts:
        m.heap.write(fields, key, Host("int", Change.CHANGING))
    return bool(counts)


@per_node
def _asked(test: ast.expr) -> tuple[ast.Attribute, ...]:
    """The fields that a comparison of numbers mentions."""
    if not any(isinstance(part, (ast.Compare, ast.Mod)) for part in ast.walk(test)):
        return ()
    return tuple(part for part in ast.walk(test) if isinstance(part, ast.Attribute))


def _count(m: Machine, test: ast.expr, node: ast.Attribute, frame: Frame) -> tuple[Fields, str] | None:
    """The cell of a field that eager code counts up or down, if it has been tested here before."""
    owner = narrowing.quiet(m, node.value, frame)
    held = owner.fields.get(node.attr) if type(owner) is Obj else None
    if type(owner) is not Obj or type(held) is not Const or type(held.value) is not int:
        return None
    again = m.memo.setdefault(("tested", id(test), owner.serial), m.steps) != m.steps
    counted = any(w.augmented and not w.capturing for w in m.writes.get((id(owner.fields), node.attr), ()))
    return (owner.fields, node.attr) if again and counted else None


def _leads_to_capture(function: Function) -> bool:
    """Whether a function captures by its text, itself or through other methods of its class."""
    if own_text.text_of(function.node).captures:
        return True
    if function.cls is None:
        return False
    methods = own_text.functions_in(function.cls.node)
    name = getattr(function.node, "name", "")
    return any(own_text.text_of(methods[each]).captures for each in own_text.names_reached(methods, name))


def _has_captured(m: Machine, function: Function) -> bool:
    return any(
        frame.function is not None and frame.function.node is function.node
        for capture in m.finished
        for frame in capture.facts["frames"]
    )
