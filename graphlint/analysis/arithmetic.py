"""Arithmetic: operators on numbers, texts, sequences and tensors, and what is computed from host values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    arrays,
    conditions,
    expressions,
    host,
    operators,
    orders,
    tensor_ops,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, cells_of_all, change_of
from graphlint.analysis.values import (
    COMPUTED,
    RESULT,
    Change,
    Const,
    Host,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    join_all,
    now,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}
LONGEST_TEXT = 10_000  # of a text put together from parts that are known


def evaluate_binary(m: Machine, node: ast.BinOp, frame: Frame) -> Value:
    left, right = expressions.evaluate(m, node.left, frame), expressions.evaluate(m, node.right, frame)
    return binary(m, node, node.op, left, right, frame)


def binary(
    m: Machine,
    node: ast.AST,
    op: ast.operator,
    left: Value,
    right: Value,
    frame: Frame,
    *,
    augmented: bool = False,
) -> Value:
    """`left op right`, tensor arithmetic included."""
    overloaded = operators.binary(m, op, left, right, augmented=augmented)
    if overloaded is not None:
        return overloaded
    if type(op) is ast.Mod and type(left) is Const and isinstance(left.value, str):
        tensor_ops.formatted(m, node, right, frame, "%-format")
        return Host("str")
    if tensor_ops.any_tensor(left, right):
        return tensor_ops.arithmetic(m, node, left, right, frame)
    if type(left) is Sequence_ and type(op) is ast.Add:
        return _concatenated(m, left, right)
    if type(left) is Sequence_ and type(op) is ast.Mult:
        return Sequence_(left.items, left.kind, left.rest or join_all(left.items) if left.items else None)
    if type(left) is Const and type(right) is Const:
        return _folded(op, left, right)
    if type(left) is Union or type(right) is Union:
        parts = [
            binary(m, node, op, a, b, frame) for a in alternatives(left)[:3] for b in alternatives(right)[:3]
        ]
        return join_all(parts)
    change = max(change_of(left), change_of(right))
    if any(type(part) is Unknown and part.typed == "numpy" for part in (left, right)):
        arrays.read(m, (left, right), frame.place(node))
        return Unknown(COMPUTED, change, "numpy")
    path = host.joined_path(left, right, change) if type(op) is ast.Div else None
    if path is not None:
        return path
    is_text = type(op) is ast.Add and any(host.is_text(side) for side in (left, right))
    return derived(("binary", type(op).__name__), left, right, kind=host.TEXT if is_text else "any")


def _concatenated(m: Machine, left: Sequence_, right: Value) -> Sequence_:
    if isinstance(right, Sequence_):
        rests = [rest for rest in (left.rest, right.rest) if rest is not None]
        rest = join_all(rests) if rests else None
        made = Sequence_((*left.items, *right.items), left.kind, rest, max(left.change, right.change))
    else:
        made = Sequence_(left.items, left.kind, Unknown("concatenation"), left.change)
    if orders.of(m, left) == orders.of(m, right):
        orders.note(m, made, orders.of(m, left))
    return made


def _folded(op: ast.operator, left: Const, right: Const) -> Value:
    cells = left.cells | right.cells
    if not _is_foldable(op, left.value, right.value):
        return Host("any", Change.CONSTANT, cells=cells)
    try:
        return Const(BINARY[type(op)](left.value, right.value), cells)
    except Exception:
        return Host("any", Change.CONSTANT, cells=cells)


def _is_foldable(op: ast.operator, left: object, right: object) -> bool:
    """Whether the result is worth its memory: powers, shifts and repetitions can make anything large."""
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return isinstance(op, ast.Add) and len(str(left)) + len(str(right)) <= LONGEST_TEXT
    if isinstance(op, (ast.Pow, ast.LShift)):
        return _is_number(left) and _is_small(right)
    return not isinstance(op, ast.Mult) or (_is_number(left) and _is_number(right))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e15


def _is_small(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= 64


def derived(operation: Any, *operands: Value, kind: str = "any") -> Value:
    """A host value computed from others: it changes when they do, and equals itself."""
    change = max(map(change_of, operands), default=Change.CONFIG)
    cells = cells_of_all(operands)
    if not cells and any(type(v) is Unknown for v in operands):
        return Unknown(COMPUTED, change, kind if kind == host.TEXT else "")
    identities = tuple(map(identity_of, operands))
    symbol = (operation, identities) if None not in identities else _made_of(operation, operands)
    return Host(kind, change, symbol, cells)


def _made_of(operation: Any, operands: tuple[Value, ...]) -> Any:
    """The symbol of a value of its own, of which is known what some or one of several operands are."""
    known = tuple(dict.fromkeys(part for operand in operands for part in _known_parts(operand)))
    return (operation, now(), known) if known else None


def _known_parts(value: Value, depth: int = 2) -> Iterator[Any]:
    for part in alternatives(value):
        if type(part) is Sequence_ and depth:
            for element in part.elements():
                yield from _known_parts(element, depth - 1)
        elif isinstance(part, (Host, Unknown)):
            yield identity_of(part)


def evaluate_unary(m: Machine, node: ast.UnaryOp, frame: Frame) -> Value:
    value = expressions.evaluate(m, node.operand, frame)
    if type(node.op) is ast.Not:
        truth = conditions.test(m, value, node.operand, frame, "not")
        if type(value) is Unknown and truth is None:  # whatever it is, this is a bool
            operation = RESULT if value.reason.startswith(RESULT) else "not"
            return Host("bool", value.change, (operation, identity_of(value)))
        return derived("not", value, kind="bool") if truth is None else Const(not truth, cells_of(value))
    if type(value) is Tensor:
        return tensor_ops.fresh_like(m, value, frame.place(node))
    overloaded = operators.unary(m, node.op, value)
    if overloaded is not None:
        return overloaded
    if type(value) is Const and isinstance(value.value, (int, float)):
        number = value.value
        if type(node.op) is ast.USub:
            return Const(-number, value.cells)
        return Const(~number if isinstance(number, int) else number, value.cells)
    return derived(("unary", type(node.op).__name__), value)
