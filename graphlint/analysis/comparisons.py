"""Comparisons: identity, membership and order, on the host or on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    arithmetic,
    bounds,
    conditions,
    correlations,
    equality,
    expressions,
    graph_keys,
    lazies,
    operators,
    tensor_ops,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of
from graphlint.analysis.values import (
    Const,
    Host,
    Mapping,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    is_none,
    join_all,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate_compare(m: Machine, node: ast.Compare, frame: Frame) -> Value:
    left = expressions.evaluate(m, node.left, frame)
    results: list[Value] = []
    for index, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = expressions.evaluate(m, right_node, frame)
        result = compare(m, node, op, left, right, frame)
        if index < len(node.ops) - 1:
            conditions.test(m, result, node, frame, "chained comparison")
        results.append(result)
        left = right
    return results[0] if len(results) == 1 else join_all(results)


def compare(m: Machine, node: ast.AST, op: ast.cmpop, left: Value, right: Value, frame: Frame) -> Value:
    """One comparison: identity and membership on the host, the rest perhaps on tensors."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        answer = equality.identical(left, right)
        if answer is None and is_none(right):
            answer = correlations.is_none_here(m, left)
        if answer is None:
            return arithmetic.derived("is", left, right, kind="bool")
        return Const(answer is isinstance(op, ast.Is), cells_of(left))
    overloaded = operators.compare(m, op, left, right)
    if overloaded is not None:
        return overloaded
    if isinstance(op, (ast.In, ast.NotIn)):
        return _membership(m, node, type(op) is ast.In, left, right, frame)
    if tensor_ops.any_tensor(left, right):
        return tensor_ops.arithmetic(m, node, left, right, frame, kind="bool")
    if _asks_whether_a_number(node) and type(left) is Host:
        return arithmetic.derived((type(op).__name__,), left, kind="bool")
    return _compare_hosts(op, left, right)


def _asks_whether_a_number(node: ast.AST) -> bool:
    """`x != x`: nobody asks this but for NaN."""
    if not (type(node) is ast.Compare and type(node.left) is ast.Name):
        return False
    return all(type(each) is ast.Name and each.id == node.left.id for each in node.comparators)


def _compare_hosts(op: ast.cmpop, left: Value, right: Value) -> Value:
    cells = cells_of(left) | cells_of(right)
    bounded = bounds.answer(op, left, right)
    if bounded is not None:
        return Const(bounded, cells)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        answer = equality.equal(left, right)
        if answer is not None:
            return Const(answer is isinstance(op, ast.Eq), cells)
        return arithmetic.derived((type(op).__name__,), left, right, kind="bool")
    known = _plain(left), _plain(right)
    if None not in known:
        try:
            return Const(COMPARE[type(op)](*known), cells)
        except TypeError:
            return Unknown("comparison")
    if type(left) is Host and equality.equal(left, right):
        return Const(isinstance(op, (ast.LtE, ast.GtE)), cells)
    return arithmetic.derived((type(op).__name__,), left, right, kind="bool")


def _plain(value: Value) -> Any:
    """The Python value of a constant or a tuple of constants; None when it is not known."""
    if type(value) is Const:
        return value.value
    if type(value) is Sequence_ and value.rest is None and value.items:
        parts = tuple(_plain(part) for part in value.items)
        return None if None in parts else parts
    return None


def _membership(m: Machine, node: ast.AST, wanted: bool, item: Value, where: Value, frame: Frame) -> Value:
    if isinstance(where, Tensor) or (isinstance(item, Tensor) and _compares_items(where)):
        tensor_ops.effect(m, node, "Tensor.__contains__", "scalar-read", (where, item), frame, how="in")
        return tensor_ops.read_back(m, tensor_ops.operands_of(where, item), "bool")
    found = equality.contains(where, item)
    if found is False and isinstance(where, Mapping):
        lazies.note_absent(m, where.fields, identity_of(item))
    if found is None and m.captures and equality.is_seen_size(where, item):
        found = True
    if found is None and not m.captures and graph_keys.has_entry_for(m, where, item):
        found = True
    if found is None:
        return arithmetic.derived("in", item, where, kind="bool")
    return Const(found is wanted, cells_of(item))


def _compares_items(where: Value) -> bool:
    """Whether looking for a tensor in a container asks for the truth of a comparison; None is never equal."""
    return isinstance(where, Sequence_) and any(not is_none(item) for item in where.items)
