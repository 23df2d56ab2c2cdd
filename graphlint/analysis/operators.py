"""Operators that a project class defines itself: `a + b`, `a == b`, `x in a`, `if a`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import functions
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.values import Obj, Union, Value, alternatives
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_COMPARE: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("__eq__", "__eq__"),
    ast.NotEq: ("__ne__", "__ne__"),
    ast.Lt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"),
    ast.Gt: ("__gt__", "__lt__"),
    ast.GtE: ("__ge__", "__le__"),
}


def method_of(value: Value, name: str) -> Obj | None:
    """`value` as an instance whose own class defines `name`, else None."""
    if type(value) is not Obj and type(value) is not Union:
        return None
    for part in alternatives(value):
        if type(part) is Obj and isinstance(part.cls, ClassInfo) and part.cls.find(name) is not None:
            return part
    return None


def binary(
    m: Machine, op: ast.operator, left: Value, right: Value, *, augmented: bool = False
) -> Value | None:
    """`left op right` where one side's class says what it means; None when neither does."""
    name = _BINARY.get(type(op))
    if name is None:
        return None
    tried = [(left, f"__{name}__", right), (right, f"__r{name}__", left)]
    if augmented:
        tried.insert(0, (left, f"__i{name}__", right))
    return _first(m, tried)


def compare(m: Machine, op: ast.cmpop, left: Value, right: Value) -> Value | None:
    """`left op right` for comparisons and membership; None when neither class defines it."""
    if isinstance(op, (ast.In, ast.NotIn)):
        return _first(m, [(right, "__contains__", left)])
    names = _COMPARE.get(type(op))
    if names is None:
        return None
    found = _first(m, [(left, names[0], right), (right, names[1], left)])
    if found is None and type(op) is ast.NotEq:
        return _first(m, [(left, "__eq__", right), (right, "__eq__", left)])
    return found


def unary(m: Machine, op: ast.unaryop, value: Value) -> Value | None:
    """`-value` and friends where the class defines them."""
    name = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}.get(type(op))
    owner = method_of(value, name) if name is not None else None
    return functions.call_method(m, owner, name, []) if owner is not None and name is not None else None


def truth(m: Machine, value: Value) -> Value | None:
    """What decides the truth of an instance: the result of its `__bool__` or `__len__`."""
    if type(value) is not Obj and type(value) is not Union:
        return None
    for name in ("__bool__", "__len__"):
        owner = method_of(value, name)
        if owner is not None:
            return functions.call_method(m, owner, name, [])
    return None


def _first(m: Machine, tried: list[tuple[Value, str, Value]]) -> Value | None:
    for side, name, other in tried:
        owner = method_of(side, name)
        if owner is not None:
            return functions.call_method(m, owner, name, [other])
    return None
