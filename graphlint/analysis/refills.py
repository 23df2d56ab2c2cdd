"""Arms of captured code that fill again what the warm-up has filled at the same line.

`if held.shape[0] < rows: held = torch.empty(rows)`, `if key not in table: table[key] = make(key)`: which way
an undecided test of this kind goes depends on sizes, and a warm-up runs with the sizes that are captured.
Where the test returns what it has found, all that follows it is such an arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import deferral
from graphlint.analysis.events import Event
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, Item
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Fields, Mapping, Obj, Union, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

_SIZES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
_LOOK_UPS = (ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.NamedExpr)


class Refill:
    """Holds back what an arm of an undecided test tells, until it is known whether the arm is such a one."""

    def __init__(self, m: Machine, capture: Capture) -> None:
        self._m = m
        self._capture = capture
        self._listener = m.listener
        self._events: list[Event] = []
        self._before = dict(capture.written), dict(capture.first), set(capture.absent)
        self._uses = len(capture.host_uses)
        self._lost = len(capture.lost_stores)

    def begin(self) -> None:
        self._m.listener = self._events.append

    def end(self, taken: Snapshot) -> bool:
        """Close the arm, which wrote `taken`; True when it does not run: nothing of it has happened."""
        m, capture = self._m, self._capture
        m.listener = self._listener
        satisfied = m.capture is capture and (
            any(_is_refilled(m, capture, fields, key) for fields, key, _ in taken.values())
            or any(key in m.lost_stores for key in capture.lost_stores[self._lost :])
        )
        if satisfied:
            capture.written, capture.first, capture.absent = self._before
            del capture.host_uses[self._uses :]
        else:
            for event in self._events:
                m.listener(event)
        return satisfied


def watch(m: Machine, test: ast.expr) -> Refill | None:
    """Watch an arm that an undecided test leads to; None where it is not about sizes or what is there."""
    if not m.captures or m.is_compiling or not _compares(test):
        return None
    return Refill(m, m.captures[-1])


def note_lost(m: Machine, place: Place) -> None:
    """A store goes into something that is not known: a line that has made one before has filled it then."""
    if m.capture is None:
        m.lost_stores.add(place.key)
    else:
        m.capture.lost_stores.append(place.key)


@per_node
def returns_found(node: ast.If) -> bool:
    """Whether a look-up returns what it has found: `if key in table: return table[key]`."""
    last = node.body[-1]
    if node.orelse or not isinstance(last, ast.Return) or last.value is None:
        return False
    is_look_up = any(isinstance(part, _LOOK_UPS) for part in ast.walk(node.test))
    return is_look_up and bool(_named(last.value) & _named(node.test) - {"self"})


def _named(node: ast.expr) -> set[str]:
    names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return {*names, *(part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute))}


@per_node
def _compares(test: ast.expr) -> bool:
    return any(isinstance(part, (*_SIZES, ast.NamedExpr)) or _asks_for_field(part) for part in ast.walk(test))


def _asks_for_field(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"


def _is_refilled(m: Machine, capture: Capture, fields: Fields, key: object) -> bool:
    """Whether a cell was written in the arm by a line that wrote it, or one beside it, before the capture.

    A list is added to in every turn, and its elements are computed from one another: that is no filling.
    """
    write = capture.written.get((id(fields), key))
    if key in ("items", "rest") or isinstance(key, Item):
        return False
    if write is None or write.local or not _holds_memory(write.value):
        return False
    keys = [key, *fields] if isinstance(key, tuple) else [key]
    return deferral.is_in_lost_call(m) or any(
        not other.capturing and other.place.key == write.place.key
        for each in keys
        for other in m.writes.get((id(fields), each), ())
    )


def _holds_memory(value: Value) -> bool:
    parts = value.values if isinstance(value, Union) else (value,)
    return any(isinstance(part, (Obj, Mapping)) for part in parts) or any(tensors_in(value, 2))
