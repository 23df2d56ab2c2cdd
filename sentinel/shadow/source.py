"""The statements under a `with torch.cuda.graph(...)`, as a function that can be called again."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from graphlint.sentinel.shadow.statements import (
    NotRunnable,
    function_at,
    item_at,
    last_line,
    source_tree,
    statements,
    with_at,
)
from graphlint.sentinel.watching.runs import locals_of

_NAME = "captured_body"
RETURNED = "<returned>"


@dataclass(slots=True)
class Body:
    """A captured body: its code, the names that it assigns, and the expressions that hold what it made."""

    code: CodeType
    parameters: list[str]
    assigned: set[str]
    used: set[str]
    targets: list[str]
    in_loop: set[str]
    line: int

    def function(self, module: dict[str, Any]) -> FunctionType:
        """A function of `parameters` that does what the body does, and returns its locals."""
        return FunctionType(self.code, module, _NAME)


def body_of(frame: FrameType) -> Body:
    """The body of the `with` statement that this frame is entering; raises NotRunnable."""
    tree = source_tree(frame.f_code.co_filename)
    function = function_at(tree, frame.f_code)
    statement = with_at(function, frame)
    return _Maker(function, statement, frame).body()


class _Maker:
    """Turns one `with` statement of one function into a function of its own."""

    def __init__(self, function: Any, statement: ast.With, frame: FrameType) -> None:
        self._function, self._statement, self._frame = function, statement, frame

    def body(self) -> Body:
        self._refuse()
        assigned = {name for node in self._statement.body for name in _assigned(node)}
        parameters = self._parameters(assigned)
        module = ast.fix_missing_locations(ast.Module([self._made(parameters)], []))
        code = _code_named(_NAME, compile(module, self._frame.f_code.co_filename, "exec"))
        targets = list(dict.fromkeys(self._targets()))
        line = self._statement.lineno
        return Body(code, parameters, assigned, self._used(), targets, self._in_loop(), line)

    def _targets(self) -> Iterator[str]:
        for node in self._statement.body:
            yield from _targets(node)

    def _used(self) -> set[str]:
        nodes = (inner for node in self._statement.body for inner in ast.walk(node))
        return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}

    def _refuse(self) -> None:
        for node in self._statement.body:
            for inner in [node, *statements(node)]:
                if isinstance(inner, (ast.Yield, ast.YieldFrom, ast.Await)):
                    raise NotRunnable("its body is where a generator yields")
                if isinstance(inner, ast.Name) and inner.id == "super":
                    raise NotRunnable("its body calls `super()`")

    def _parameters(self, assigned: set[str]) -> list[str]:
        bound = locals_of(self._frame)
        if self._frame.f_code.co_name == "<module>":
            return sorted(assigned & bound.keys())
        declared = {
            name for node in statements(self._function) if isinstance(node, ast.Global) for name in node.names
        }
        return [name for name in bound if name not in declared and name.isidentifier()]

    def _made(self, parameters: list[str]) -> Any:
        leave = ast.parse(f"return {{**locals(), {RETURNED!r}: None}}").body[0]
        body = [_Returns().visit(copy.deepcopy(node)) for node in self._statement.body]
        at = item_at(self._statement, self._frame)
        if later := self._statement.items[at + 1 :]:
            body = [ast.With(items=[copy.deepcopy(item) for item in later], body=body)]
        loop = ast.For(
            target=ast.Name("_once", ast.Store()),
            iter=ast.parse("(None,)", mode="eval").body,
            body=body,
            orelse=[],
        )
        arguments = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
        made = ast.parse(f"def {_NAME}(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body = arguments, [*self._declared(), loop, leave]
        return self._in_class(made)

    def _declared(self) -> list[ast.stmt]:
        return [copy.deepcopy(node) for node in statements(self._function) if isinstance(node, ast.Global)]

    def _in_class(self, made: ast.FunctionDef) -> ast.stmt:
        whole: str = getattr(self._frame.f_code, "co_qualname", "")
        owner = whole.split(".")[-2:-1]
        if owner and owner[0].isidentifier():  # so that names with two underscores mean the same
            return ast.ClassDef(name=owner[0], bases=[], keywords=[], body=[made], decorator_list=[])
        return made

    def _in_loop(self) -> set[str]:
        """Names that a loop around the capture assigns: one value for each graph."""
        names: set[str] = set()
        for node in statements(self._function):
            if isinstance(node, (ast.For, ast.While)) and node.lineno <= self._statement.lineno <= last_line(
                node
            ):
                names |= set(_assigned(node))
        return names


class _Returns(ast.NodeTransformer):
    """`return x` gives the locals as well."""

    def visit_Return(self, node: ast.Return) -> Any:
        made = ast.parse(f"return {{**locals(), {RETURNED!r}: 0}}").body[0]
        assert isinstance(made, ast.Return) and isinstance(made.value, ast.Dict)
        made.value.values[-1] = node.value or ast.Constant(None)
        return ast.copy_location(made, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


def _assigned(node: ast.AST) -> Iterator[str]:
    for inner in [node, *statements(node)]:
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
            yield inner.id


def _targets(node: ast.AST) -> Iterator[str]:
    """Expressions that hold what the body made: assigned names, attributes and items."""
    if isinstance(node, ast.Return):
        yield RETURNED
    for inner in [node, *statements(node)]:
        if isinstance(inner, _PLACES) and isinstance(inner.ctx, ast.Store) and _is_plain(inner):
            yield ast.unparse(inner)


_PLACES = (ast.Name, ast.Attribute, ast.Subscript)
_PLAIN = (
    *_PLACES,
    ast.Constant,
    ast.expr_context,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.Tuple,
)


def _is_plain(node: ast.AST) -> bool:
    """Whether it can be evaluated without consequences."""
    return all(isinstance(inner, _PLAIN) for inner in ast.walk(node))


def _code_named(name: str, code: CodeType) -> CodeType:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            return const if const.co_name == name else _code_named(name, const)
    raise NotRunnable("its body does not compile")


def evaluated(target: str, names: dict[str, Any], module: dict[str, Any]) -> Any:
    """What an expression of `Body.targets` holds; raises whatever its evaluation raises."""
    if target == RETURNED:
        return names[RETURNED]
    return eval(target, module, names)
