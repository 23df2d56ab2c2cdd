"""Once-guards and phases: tests that nobody can decide, on the second way past them.

Under `if step >= start` the first round of a program leaves None or a graph, and `if self.graph is None`
cannot be decided either. Both arms have been run then, and what follows a capture is the round that finds
the graph: it takes the arm of the later steps, and the guard's answer is that there is a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import cells, conditions, graph_keys, narrowing
from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import Cell, Change, Obj, Union, Value, alternatives, is_none
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def noting(
    m: Machine, node: ast.If, polarity: bool, frame: Frame, arm: Callable[[], None]
) -> Callable[[], None]:
    """An arm that notes that it has run, and whether it has captured or has left the block for good."""

    def run() -> None:
        before = len(m.finished)
        arm()
        m.arms.add((id(node), polarity))
        if len(m.finished) > before:
            m.captured_under.add((id(node), polarity))
        elif not frame.reachable:
            m.left_under.setdefault((id(node), polarity), before)

    return run


def note_reset(m: Machine, old: object, value: Value) -> None:
    """A cell that named a graph is given None: what the same test leads to is for the next capture."""
    if is_none(value) and isinstance(old, (Obj, Union)) and not m.captures and graph_keys.held_graphs(old):
        m.resets += conditions.undecided(m)[-1:]


def settled(m: Machine, node: ast.If, value: Value, frame: Frame) -> bool | None:
    """The answer of an undecided test in a round after the capture; None where either may be meant."""
    if m.captures:
        return None
    later = _later_phase(m, node, value, frame)
    return later if later is not None else _finds_graph(m, node, frame)


def _later_phase(m: Machine, node: ast.If, value: Value, frame: Frame) -> bool | None:
    """Which arm of `if step < start` belongs to the steps after the capture: the one that has captured."""
    if type(node.test) is not ast.Compare or not isinstance(node.test.ops[0], ORDER):
        return None
    if change_of(value) is not Change.CHANGING:
        return None
    led = [answer for answer in (True, False) if _leads_to_capture(m, node, answer, frame)]
    return led[0] if len(led) == 1 else None


def _leads_to_capture(m: Machine, node: ast.If, answer: bool, frame: Frame) -> bool:
    """Whether an arm has captured, or what follows in its function has where the other arm had left."""
    if (id(node), answer) in m.captured_under:
        return True
    left = m.left_under.get((id(node), not answer))
    here = frame.function.node if frame.function is not None else None
    return left is not None and any(
        outer.function is not None and outer.function.node is here
        for capture in m.finished[left:]
        for outer in capture.facts["frames"]
    )


def _finds_graph(m: Machine, node: ast.If, frame: Frame) -> bool | None:
    """The answer of a test for None whose other answer has led to the capture of what it finds now."""
    guard = _guard(node.test)
    if guard is None:
        return None
    tested, when_none = guard
    found = _found(m, tested, frame)
    if found is None or (id(node), when_none) not in m.arms or not _is_kept(m, *found):
        return None
    return not when_none


def _guard(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """What a test asks to be None, and its answer when it is; of a conjunction only a part may ask."""
    match test:
        case ast.Compare(
            left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
        ):
            return left, isinstance(op, ast.Is)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() as operand):
            return operand, True
        case ast.Name() | ast.Attribute():
            return test, False
        case ast.BoolOp(op=ast.And(), values=parts):
            asked = [guard for part in parts if (guard := _guard(part)) is not None and guard[1]]
            return asked[0] if asked else None
    return None


def _found(m: Machine, node: ast.expr, frame: Frame) -> tuple[Cell, Union] | None:
    """The cell that an expression names, where it may be None."""
    fields, key = None, ""
    if type(node) is ast.Name:
        fields, key = frame.env.fields, node.id
    elif type(node) is ast.Attribute:
        fields, key = narrowing.fields_of(m, node.value, frame), node.attr
    value = fields.get(key) if fields is not None else None
    if type(value) is not Union or not any(map(is_none, value.values)):
        return None
    return (id(fields), key), value


def _is_kept(m: Machine, cell: Cell, value: Union) -> bool:
    """Whether whatever is not None has captured, and nobody has put None in its place since."""
    records = [_record(part) for part in value.values if not is_none(part)]
    if not records or any(record is None for record in records):
        return False
    since = min(record.clock for record in records if record is not None)
    history = m.writes.get(cell, [])
    emptied = any(w.clock >= since and any(map(is_none, alternatives(w.value))) for w in history)
    return not emptied and len(history) < cells.MOST_WRITES


def _record(value: Value) -> Capture | None:
    """The capture of the graph that a value is or holds."""
    for graph in graph_keys.held_graphs(value):
        record = graph.fields.get("record")
        if isinstance(record, Capture):
            return record
    return None
