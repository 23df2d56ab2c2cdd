"""Which parameters must be host integers: those that the program uses as bounds or sizes."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import generators
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.values import Function
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node, summary
from graphlint.rules import operations

# What keeps an integer an integer on its way into a bound.
THROUGH = frozenset({"min", "max", "int"})


def is_integer(function: Function, name: str) -> bool:
    """Whether parameter `name` is a bound or a size, itself or through a field of its object."""
    if name in sized_names(function.node):
        return True
    kept = fields_given(function.node, name)
    return bool(kept) and function.cls is not None and not kept.isdisjoint(_sized_fields(function.cls))


def _sized_fields(info: ClassInfo) -> frozenset[str]:
    nodes = [method for cls in info.mro() for method in cls.methods.values()]
    return frozenset(name[1:] for node in nodes for name in sized_names(node) if name.startswith("."))


@summary
def sized_names(node: ast.AST) -> frozenset[str]:
    """The names, and with a dot before them the fields of `self`, that a function uses as integers."""
    return frozenset(name for part in generators.own_nodes(node) for name in _sizes_in(part))


def _sizes_in(node: ast.AST) -> Iterator[str]:
    if type(node) is ast.Slice:
        for bound in (node.lower, node.upper, node.step):
            yield from _operands(bound)
    elif type(node) is ast.Call and _takes_sizes(node.func):
        for argument in node.args:
            for size in argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]:
                yield from _operands(size)


def _takes_sizes(callee: ast.expr) -> bool:
    if type(callee) is ast.Name:
        return callee.id == "range"
    return (
        type(callee) is ast.Attribute
        and callee.attr in operations.listed("sizes_by_position")
        and _is_torch(callee.value)
    )


def _is_torch(node: ast.expr) -> bool:
    return type(node) is ast.Name and node.id == "torch"


def _operands(node: ast.expr | None) -> Iterator[str]:
    if type(node) is ast.Name:
        yield node.id
    elif type(node) is ast.Attribute and type(node.value) is ast.Name and node.value.id == "self":
        yield f".{node.attr}"
    elif type(node) is ast.UnaryOp:
        yield from _operands(node.operand)
    elif type(node) is ast.BinOp:
        yield from _operands(node.left)
        yield from _operands(node.right)
    elif type(node) is ast.Call and type(node.func) is ast.Name and node.func.id in THROUGH:
        for argument in node.args:
            yield from _operands(argument)


@per_node
def _assignments(node: ast.AST) -> tuple[ast.Assign, ...]:
    return tuple(part for part in generators.own_nodes(node) if type(part) is ast.Assign)


def fields_given(node: ast.AST, name: str) -> frozenset[str]:
    """The fields that a method sets to a parameter: `self.a = name`, `self.a, self.b = name, ...`."""
    return frozenset(
        field
        for assignment in _assignments(node)
        for target in assignment.targets
        for field in _given(target, assignment.value, name)
    )


def _given(target: ast.expr, value: ast.expr, name: str) -> Iterator[str]:
    if type(target) is ast.Tuple and type(value) is ast.Tuple and len(target.elts) == len(value.elts):
        for part, source in zip(target.elts, value.elts, strict=True):
            yield from _given(part, source, name)
    elif type(target) is ast.Attribute and type(value) is ast.Name and value.id == name:
        yield target.attr
