"""Loops that warm up, capture and replay in turn, as their own count tells: `if step < 3: … elif step == 3:`.

Such a loop is followed for a few turns, in which the count is not known after the first one.
"""

from __future__ import annotations

from graphlint.analysis import bounds, own_text
from graphlint.analysis.values import Const, Host, Sequence_, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import walk

MANY = 2**31
TURNS = 4  # one that warms up, one that captures, and two that replay


@per_node
def has(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether the text of a loop captures and replays, and asks in between how far it has come."""
    text = own_text.text_of(loop)
    if not text.captures or not text.replays:
        return False
    counted = own_text.names_bound(loop)
    tests = (part.test for part in walk(loop) if isinstance(part, ast.If))
    return any(
        isinstance(name, ast.Name) and name.id in counted
        for test in tests
        if isinstance(test, ast.Compare)
        for name in ast.walk(test)
    )


def told_apart(loop: ast.For | ast.AsyncFor, values: list[Value]) -> list[Value]:
    """The turns of `for i, x in enumerate(data)` that asks `i == 0`: the first is, and the others are not."""
    if len(values) < 2 or not _asks_for_first(loop):
        return values
    counts = [Const(0), *(bounds.between(1, MANY) for _ in values[1:])]
    pairs = [each for each in values if isinstance(each, Sequence_) and _is_counted(each)]
    if len(pairs) < len(values):
        return values
    return [
        Sequence_([count, *pair.items[1:]], pair.kind, pair.rest, pair.change, pair.site)
        for count, pair in zip(counts, pairs, strict=True)
    ]


def _is_counted(pair: Sequence_) -> bool:
    return pair.kind == "tuple" and bool(pair.items) and isinstance(pair.items[0], Host)


@per_node
def _asks_for_first(loop: ast.For | ast.AsyncFor) -> bool:
    call, target = loop.iter, loop.target
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "enumerate"):
        return False
    if len(call.args) != 1 or call.keywords or not isinstance(target, ast.Tuple):
        return False
    name = target.elts[0]
    tests = (part.test for part in walk(loop) if isinstance(part, (ast.If, ast.IfExp)))
    return isinstance(name, ast.Name) and any(_compares_with_zero(test, name.id) for test in tests)


def _compares_with_zero(test: ast.expr, name: str) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Name):
        return test.id == name
    is_plain = isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == name
    others = test.comparators if isinstance(test, ast.Compare) else []
    return is_plain and len(others) == 1 and isinstance(others[0], ast.Constant) and others[0].value == 0
