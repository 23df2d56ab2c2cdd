"""Numbers between the ends of a count: which comparisons with them have one answer."""

from __future__ import annotations

from typing import Any

from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import Change, Host, Value, now
from graphlint.facts import nodes as ast

BETWEEN = "between"
Bounds = tuple[float, float]
DEEPEST_SUM = 4  # sums of sums share their parts: to follow all of them would take time without end


def between(low: int, high: int) -> Host:
    """A number that is neither the first nor the second nor the last of a count."""
    return Host("int", Change.CHANGING, (BETWEEN, low, high, now()))


def answer(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """The answer of a comparison with a number between; None where there is none in it, or either may be."""
    if not (type(left) is Host or type(right) is Host):
        return None
    one, other = _bounds(identity_of(left)), _bounds(identity_of(right))
    if one is None or other is None:
        return None
    if isinstance(op, (ast.Gt, ast.LtE)):
        above = _is_below(other, one)
        return above if above is None or type(op) is ast.Gt else not above
    if isinstance(op, (ast.Lt, ast.GtE)):
        below = _is_below(one, other)
        return below if below is None or type(op) is ast.Lt else not below
    apart = one[1] < other[0] or other[1] < one[0]
    return type(op) is ast.NotEq if apart and isinstance(op, (ast.Eq, ast.NotEq)) else None


def _is_below(one: Bounds, other: Bounds) -> bool | None:
    if one[1] < other[0]:
        return True
    return False if one[0] >= other[1] else None


def _bounds(identity: Any, depth: int = 0) -> Bounds | None:
    """The least and the greatest that a number with this identity may be; None where nothing is known."""
    kind, content = identity if isinstance(identity, tuple) and len(identity) == 2 else (None, None)
    if kind == "const":
        return (content, content) if isinstance(content, (int, float)) else None
    if kind != "host" or not isinstance(content, tuple):
        return None
    if content[0] == BETWEEN:
        return content[1], content[2]
    return _of_sum(*content, depth + 1) if len(content) == 2 and depth < DEEPEST_SUM else None


def _of_sum(operation: Any, operands: Any, depth: int) -> Bounds | None:
    """The bounds of a sum or difference of numbers with bounds."""
    if not isinstance(operands, tuple) or len(operands) != 2 or operation[:1] != ("binary",):
        return None
    if operation[1] not in ("Add", "Sub"):
        return None
    left, right = (_bounds(each, depth) for each in operands)
    if left is None or right is None:
        return None
    if operation[1] == "Add":
        return left[0] + right[0], left[1] + right[1]
    return left[0] - right[1], left[1] - right[0]
