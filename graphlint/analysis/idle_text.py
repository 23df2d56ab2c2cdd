"""What the text of a function says of calls that may be passed over: what it writes, calls and binds."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import generators
from graphlint.analysis.classes import Def
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.walking import walk
from graphlint.rules import operations

_LEAVING = (
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.With,
    ast.AsyncWith,
    ast.AsyncFor,
    ast.ClassDef,
    ast.Lambda,
)


def _may_compute(node: ast.AST) -> bool:
    """Whether a node is an operation that tensors have as well, which would be work for the device."""
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and not isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.BinOp):
        return not any(_is_text(side) for side in (node.left, node.right))
    return isinstance(node, ast.AugAssign)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


@per_node
def called(node: Def) -> list[ast.expr]:
    """What a function calls, but for methods that only read and for functions that it defines itself."""
    inner = {part.name for part in walk(node) if isinstance(part, ast.FunctionDef) and part is not node}
    reading = operations.listed("idle_methods")
    calls = (part for statement in node.body for part in walk(statement) if isinstance(part, ast.Call))
    return [
        each
        for each in (call.func for call in calls)
        if not (isinstance(each, ast.Name) and each.id in inner)
        and not (isinstance(each, ast.Attribute) and each.attr in reading)
    ]


@summary
def writes(node: Def) -> bool:
    """Whether a function writes more than local names, may compute with tensors, or is left in the middle."""
    globals_: set[str] = set()
    stored: set[str] = set()
    for statement in node.body:
        for part in walk(statement):
            if isinstance(part, _LEAVING) or _may_compute(part):
                return True
            if isinstance(part, (ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load):
                return True
            if isinstance(part, (ast.Global, ast.Nonlocal)):
                globals_.update(part.names)
            elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                stored.add(part.id)
    return not stored.isdisjoint(globals_)


@per_node
def imports(node: Def) -> dict[str, ast.Import | ast.ImportFrom]:
    """The names that a function imports, each with the statement."""
    found: dict[str, ast.Import | ast.ImportFrom] = {}
    for part in generators.own_nodes(node):
        for alias in part.names if isinstance(part, (ast.Import, ast.ImportFrom)) else ():
            whole = alias.name.split(".")[0] if isinstance(part, ast.Import) else alias.name
            found[alias.asname or whole] = part  # type: ignore[assignment]
    return found


@summary
def local_names(node: Def) -> frozenset[str]:
    """The parameters of a function, and what it assigns; not what it imports or defines."""
    return frozenset(_bound(node))


def _bound(node: Def) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.ExceptHandler) and part.name:
            yield part.name
