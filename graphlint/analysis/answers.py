"""Answers of tests, as far as their text goes: what the answer of a whole says of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from graphlint.facts import nodes as ast


def plain(test: ast.expr, answer: bool) -> tuple[ast.expr, bool]:
    """A test without the `not` before it, and the answer that it has where the whole has this one."""
    while type(test) is ast.UnaryOp and type(test.op) is ast.Not:
        test, answer = test.operand, not answer
    return test, answer


def parts(test: ast.expr, answer: bool) -> Sequence[tuple[ast.expr, bool]]:
    """The tests whose answers are known where the whole has this one: all of `a and b` that holds.

    Nothing where one of several tests may have decided: `a and b` that does not hold.
    """
    test, answer = plain(test, answer)
    if type(test) is not ast.BoolOp:
        return ((test, answer),)
    if isinstance(test.op, ast.And) is not answer:
        return ()
    return [each for part in test.values for each in parts(part, answer)]


def asks_for_none(test: ast.AST) -> TypeGuard[ast.Compare]:
    """`x is None`, or `x is not None`."""
    if (
        type(test) is not ast.Compare
        or len(test.ops) != 1
        or not isinstance(test.ops[0], (ast.Is, ast.IsNot))
    ):
        return False
    return type(test.comparators[0]) is ast.Constant and test.comparators[0].value is None


def finds_none(test: ast.Compare, answer: bool) -> bool:
    """Whether a test that asks for None has found it, by its answer."""
    return isinstance(test.ops[0], ast.Is) is answer
