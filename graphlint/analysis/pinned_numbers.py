"""Numbers that the way to a replay has tested for one value: `if prefills > 0: return eager(x)` leaves 0.

What a graph has frozen is then what the number is at every replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import answers, narrowing
from graphlint.analysis.frames import Frame
from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import Const, Host, Value
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# What is left of a number that is not negative, by the comparison, its answer and its other side.
NOTHING_LEFT = {(ast.Gt, False, 0), (ast.GtE, False, 1), (ast.Lt, True, 1), (ast.LtE, True, 0)}


def note_left(m: Machine, test: ast.expr, answer: bool, frame: Frame) -> None:
    """The arm of a test has left the function: from here on the test has the other answer."""
    frame.pinned.update(_identified(m, test, not answer, frame))


def stands(m: Machine, then: Value, now: Value) -> bool:
    """Whether `now`, on the way to here, can only be the number that it was `then`."""
    if not isinstance(then, Const) or not isinstance(now, Host):
        return False
    wanted = (identity_of(now), then.value)
    return any(wanted in frame.pinned or wanted in _tested(m, frame) for frame in m.frames)


def _tested(m: Machine, frame: Frame) -> set[tuple[object, int]]:
    open_tests = [c for c in frame.conditions if not c.decided and isinstance(c.place.node, ast.expr)]
    return {pin for c in open_tests for pin in _identified(m, c.place.node, c.polarity, frame)}  # type: ignore[arg-type]


def _identified(m: Machine, test: ast.expr, answer: bool, frame: Frame) -> Iterator[tuple[object, int]]:
    for part, its_answer in answers.parts(test, answer):
        node, number = _pin(part, its_answer)
        value = narrowing.quiet(m, node, frame) if node is not None else None
        if isinstance(value, Host):
            yield identity_of(value), number


def _pin(test: ast.expr, answer: bool) -> tuple[ast.expr | None, int]:
    """The number that a test with this answer leaves one value, if there is one, and the value."""
    if isinstance(test, (ast.Name, ast.Attribute)) and not answer:
        return test, 0
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        other = test.comparators[0]
        number = other.value if isinstance(other, ast.Constant) and type(other.value) is int else None
        equal = isinstance(test.ops[0], ast.Eq if answer else ast.NotEq)
        if number is not None and equal:
            return test.left, number
        if (type(test.ops[0]), answer, number) in NOTHING_LEFT:
            return test.left, 0
    return None, 0
