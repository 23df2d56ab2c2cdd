"""Tests that hang together: what one undecided test has chosen tells the answer of another.

`x = make() if wide else None` leaves a value that is None exactly where `wide` is false. Where `x is None`
holds, `wide` is known to be false, and in code that `wide` itself led to, it is known to be true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import answers
from graphlint.analysis.frames import Condition, Frame
from graphlint.analysis.values import Const, Host, Union, Unknown, Value, alternatives, join
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def chosen(test: Value, if_true: Value, if_false: Value) -> Value:
    """The value of a conditional expression; it remembers the test where being None tells its answer."""
    joined = join(if_true, if_false)
    answers = (_is_none(if_true), _is_none(if_false))
    if type(joined) is Union and type(test) is Host and set(answers) == {True, False}:
        return Union(joined.values, (test, answers[0] is True))
    return joined


def _is_none(value: Value) -> bool | None:
    answers = {_part_is_none(part) for part in alternatives(value)}
    return answers.pop() if len(answers) == 1 else None


def _part_is_none(part: Value) -> bool | None:
    if type(part) is Unknown or (type(part) is Host and part.kind == "any"):
        return None
    return type(part) is Const and part.value is None


def implied(node: ast.expr, polarity: bool, frame: Frame) -> list[Condition]:
    """What the answer of a test says of other tests."""
    if type(node) is ast.BoolOp and isinstance(node.op, ast.And) is polarity:
        return [
            condition
            for part, value in frame.operands.get(node, ())
            for condition in (
                Condition(frame.place(part), value, polarity, True),
                *implied(part, polarity, frame),
            )
        ]
    chosen_by = _by_none(node, polarity, frame)
    return [] if chosen_by is None else [chosen_by]


def _by_none(node: ast.expr, polarity: bool, frame: Frame) -> Condition | None:
    """What `x is None` says about the test that chose whether the local name `x` is None."""
    if not answers.asks_for_none(node) or type(node.left) is not ast.Name:
        return None
    value = frame.env.fields.get(node.left.id)
    if type(value) is not Union or value.chosen_by is None:
        return None
    test, when_none = value.chosen_by
    return Condition(frame.place(node), test, when_none is answers.finds_none(node, polarity), True)


def assumed(m: Machine, value: Value) -> bool | None:
    """The answer of a test that the way here has settled; None when it has not."""
    if type(value) is not Host or value.kind != "bool":
        return None
    for frame in reversed(m.frames):
        for condition in reversed(frame.conditions):
            if type(condition.value) is Host and condition.value.symbol == value.symbol:
                return condition.polarity
    return None


def answer_of(m: Machine, value: Value) -> bool | None:
    """The truth of a test that is a plain boolean, where it is known here."""
    if type(value) is Const:
        return value.value if isinstance(value.value, bool) else None
    return assumed(m, value)


def is_none_here(m: Machine, value: Value) -> bool | None:
    """Whether a value is None, where the way here has settled the test that chose it."""
    if type(value) is not Union or value.chosen_by is None:
        return None
    test, when_none = value.chosen_by
    answer = assumed(m, test)
    return None if answer is None else answer is when_none
