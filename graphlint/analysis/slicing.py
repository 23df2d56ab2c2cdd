"""Slices of a method: only the statements that one of its fields depends on.

A constructor that builds half of a program need not be run for one of its fields. The slice of a method for a
field has the statements that write it, those that give the local names used there their values, the calls of
other methods of the object that write it, and every way out of the method before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence

from graphlint.analysis.classes import ClassInfo, Def
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import children

Writes = Callable[[str], frozenset[str]]
"""The fields that calling a method of the object, by its name, may write."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)
_BLOCKS = ("body", "orelse", "finalbody")


def fields_written(info: ClassInfo, node: Def) -> frozenset[str]:
    """The fields that a method of a class writes, itself or through other methods of the object."""
    found: set[str] = set()
    pending: list[tuple[ClassInfo, Def]] = [(info, node)]
    met: set[int] = set()
    while pending:
        owner, method = pending.pop()
        if id(method) in met:
            continue
        met.add(id(method))
        effects = own_effects(method)
        found |= effects.fields
        nexts = [info.find(name) for name in effects.methods]
        nexts += [info.find(name, owner) for name in effects.inherited]
        pending += [each for each in nexts if each is not None]
    return frozenset(found)


class Effects:
    """What a piece of a method does: fields and local names it writes, methods of the object it calls."""

    __slots__ = ("fields", "inherited", "leaves", "methods", "names", "touched", "uses")

    def __init__(self) -> None:
        self.fields: set[str] = set()
        self.touched: set[str] = set()
        self.methods: set[str] = set()
        self.inherited: set[str] = set()
        self.names: set[str] = set()
        self.uses: set[str] = set()
        self.leaves = False


def own_effects(method: Def) -> Effects:
    """What the body of a method does by its own text."""
    return _effects_of_body(method)


@summary
def _effects_of_body(method: Def) -> Effects:
    found = Effects()
    for statement in method.body:
        _read_into(found, statement, _self_name(method))
    return found


def _self_name(method: Def) -> str:
    parameters = [*method.args.posonlyargs, *method.args.args]
    return parameters[0].arg if parameters else ""


def _effects_of(statement: ast.AST, owner: str) -> Effects:
    found: Effects | None = statement.__dict__.get("_effects")
    if found is None:
        found = Effects()
        _read_into(found, statement, owner)
        statement.__dict__["_effects"] = found
    return found


def _read_into(found: Effects, tree: ast.AST, owner: str) -> None:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _SCOPES):
            found.names.add(node.name)
        elif type(node) is ast.Name:
            (found.uses if type(node.ctx) is ast.Load else found.names).add(node.id)
        elif type(node) is ast.alias:
            found.names.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            _read_access(found, node, owner)
        elif type(node) is ast.Call:
            _read_call(found, node, owner)
        elif type(node) is ast.Expr and type(node.value) is ast.Call:
            _read_statement(found, node.value.func, owner)
        elif isinstance(node, (ast.Return, ast.Global, ast.Nonlocal)):
            found.leaves = True
        stack += children(node)


def _read_access(found: Effects, node: ast.Attribute | ast.Subscript, owner: str) -> None:
    if isinstance(node.ctx, ast.Load):
        return
    root, first = _path(node)
    if root == owner and first:
        own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        (found.fields if own else found.touched).add(first)
    elif root:
        found.names.add(root)


def _read_call(found: Effects, node: ast.Call, owner: str) -> None:
    function = node.func
    if not isinstance(function, ast.Attribute):
        return
    if isinstance(function.value, ast.Name) and function.value.id == owner:
        found.methods.add(function.attr)
        named = node.args[0] if node.args else None
        if function.attr.startswith("register_") and isinstance(named, ast.Constant):
            found.fields.add(str(named.value))
    elif isinstance(function.value, ast.Call) and getattr(function.value.func, "id", "") == "super":
        found.inherited.add(function.attr)


def _read_statement(found: Effects, function: ast.expr, owner: str) -> None:
    """`self.parts.append(...)` as a statement: it is there for what it does to what it is called on."""
    if isinstance(function, ast.Attribute):
        root, first = _path(function.value)
        if root == owner and first:
            found.touched.add(first)
        elif root and root != owner:
            found.names.add(root)


def _path(node: ast.AST) -> tuple[str, str]:
    """The name that an access starts with, and the first attribute after it."""
    first = ""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        first = node.attr if isinstance(node, ast.Attribute) else first
        node = node.value
    return (node.id, first) if isinstance(node, ast.Name) else ("", "")


def slice_for(method: Def, info: ClassInfo, where: ClassInfo, field: str) -> list[ast.stmt]:
    """The statements of `method`, defined in `where`, that `field` of an instance of `info` depends on."""
    key = (id(method), field)
    if key not in info.slices:
        info.slices[key] = _Slicer(method, info, where, field).body()
    return info.slices[key]


class _Slicer:
    """Keeps what a field depends on, and looks again until no further local name is needed."""

    def __init__(self, method: Def, info: ClassInfo, where: ClassInfo, field: str) -> None:
        self.method = method
        self.info = info
        self.where = where
        self.field = field
        self.owner = _self_name(method)
        self.names: set[str] = set()

    def body(self) -> list[ast.stmt]:
        before = -1
        while len(self.names) != before:
            before = len(self.names)
            kept = self._block(self.method.body)
        return kept

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        kept = (self._statement(each) for each in reversed(statements))
        return [each for each in kept if each is not None][::-1]

    def _statement(self, statement: ast.stmt) -> ast.stmt | None:
        effects = _effects_of(statement, self.owner)
        if not self._matters(effects):
            return None
        if isinstance(statement, _COMPOUND):
            return self._compound(statement)
        self._need(effects.uses)
        return statement

    def _matters(self, effects: Effects) -> bool:
        return (
            self.field in effects.fields
            or self.field in effects.touched
            or effects.leaves
            or not self.names.isdisjoint(effects.names)
            or any(self._writes(name, None) for name in effects.methods)
            or any(self._writes(name, self.where) for name in effects.inherited)
        )

    def _writes(self, name: str, after: ClassInfo | None) -> bool:
        found = self.info.find(name, after)
        return found is not None and self.field in fields_written(self.info, found[1])

    def _need(self, names: Iterable[str]) -> None:
        self.names |= set(names) - {self.owner}

    def _compound(self, statement: ast.stmt) -> ast.stmt | None:
        made = copy.copy(statement)
        made.__dict__.pop("_effects", None)
        for name in _BLOCKS:
            if getattr(statement, name, None):
                setattr(made, name, self._block(getattr(statement, name)))
        if isinstance(statement, ast.Try) and isinstance(made, ast.Try):
            made.handlers = [self._handler(each) for each in statement.handlers]
        if not any(getattr(made, name, None) for name in _BLOCKS):
            return None
        if getattr(made, "body", None) == []:  # what follows `else` is all that is left
            made.body = [ast.copy_location(ast.Pass(), made)]  # type: ignore[attr-defined]
        if isinstance(made, (ast.With, ast.AsyncWith)):
            made.items = [item for item in made.items if not self._is_own_context(item)]
            if not made.items:
                made = ast.copy_location(
                    ast.If(ast.copy_location(ast.Constant(True), made), made.body, []), made
                )
        for part in ast.iter_child_nodes(made):
            if isinstance(part, (ast.expr, ast.withitem)):
                self._need(_effects_of(part, self.owner).uses)
        return made

    def _is_own_context(self, item: ast.withitem) -> bool:
        """`with self.marked():`, a context that notes something about the object: no field depends on it."""
        called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
        return item.optional_vars is None and _path(called or item)[0] == self.owner

    def _handler(self, handler: ast.ExceptHandler) -> ast.ExceptHandler:
        made = copy.copy(handler)
        made.body = self._block(handler.body)
        return made
