"""The names that a body of statements binds, with the conditions under which it does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from graphlint.facts import nodes as ast
from graphlint.facts.walking import children, walk

Kind = Literal[
    "def", "class", "import", "from", "assign", "declare", "augassign", "for", "with", "except", "walrus",
    "match", "type", "del",
]  # fmt: skip
Guards = tuple[tuple[ast.expr, bool], ...]
Function = ast.FunctionDef | ast.AsyncFunctionDef

_NO_GUARDS: Guards = ()


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One place that binds `name`.

    `node` is the statement (for `walrus`, `except` and `match` the expression, handler or pattern);
    `alias` is the part of an import statement that binds the name, `target` the name's own node in an
    assignment, loop or `with`. `guards` are the enclosing `if` tests, outermost first, each with the
    outcome under which the binding runs; `handler` tells that it stands in the body of an `except`.
    `declare` is an annotation without a value.
    """

    kind: Kind
    name: str
    node: ast.AST
    guards: Guards = _NO_GUARDS
    handler: bool = False
    alias: ast.alias | None = None
    target: ast.expr | None = None


@dataclass(frozen=True, slots=True)
class _Where:
    guards: Guards = _NO_GUARDS
    handler: bool = False

    def under(self, test: ast.expr, outcome: bool) -> _Where:
        return _Where((*self.guards, (test, outcome)), self.handler)

    def in_handler(self) -> _Where:
        return _Where(self.guards, True)

    def binding(
        self,
        kind: Kind,
        name: str,
        node: ast.AST,
        *,
        alias: ast.alias | None = None,
        target: ast.expr | None = None,
    ) -> Binding:
        return Binding(kind, name, node, self.guards, self.handler, alias, target)


def bindings_of(body: Iterable[ast.stmt], *, walruses: bool = True) -> Iterator[Binding]:
    """The bindings of a body in text order, through compound statements but not into functions and classes.

    A star import is a binding of the name `*`. Without `walruses` the text has none: looking for them
    takes longer than everything else.
    """
    return _walk(body, _Where(), walruses=walruses)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _walk(body: Iterable[ast.stmt], where: _Where, *, walruses: bool = True) -> Iterator[Binding]:
    # An explicit stack: generated files have `elif` chains longer than Python's recursion limit.
    pending = [(statement, where) for statement in body][::-1]
    while pending:
        statement, where = pending.pop()
        if walruses:
            yield from _of_walruses(statement, where)
        yield from _of_statement(statement, where)
        pending.extend(reversed(list(_inside(statement, where))))


def _inside(node: ast.stmt, where: _Where) -> Iterator[tuple[ast.stmt, _Where]]:
    """The statements inside a compound statement, each with its conditions."""
    if isinstance(node, _SCOPES):
        return
    inner, otherwise = where, where
    if isinstance(node, ast.If):
        inner, otherwise = where.under(node.test, True), where.under(node.test, False)
    yield from ((child, inner) for child in getattr(node, "body", ()))
    for handler in getattr(node, "handlers", ()):
        yield from ((child, where.in_handler()) for child in handler.body)
    for case in getattr(node, "cases", ()):
        yield from ((child, where) for child in case.body)
    yield from ((child, otherwise) for child in getattr(node, "orelse", ()))
    yield from ((child, where) for child in getattr(node, "finalbody", ()))


def _of_statement(node: ast.stmt, where: _Where) -> Iterator[Binding]:
    """What a statement binds itself, the statements and walruses inside it left out."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield where.binding("def", node.name, node)
    elif isinstance(node, ast.ClassDef):
        yield where.binding("class", node.name, node)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _of_import(node, where)
    elif isinstance(node, (ast.Try, ast.Match)) or type(node).__name__ == "TryStar":
        yield from _of_clauses(node, where)
    elif type(node).__name__ == "TypeAlias":  # Python 3.12
        name = getattr(node, "name")  # noqa: B009
        yield where.binding("type", name.id, node, target=name)
    else:
        yield from _of_targets(node, where)


def _of_import(node: ast.Import | ast.ImportFrom, where: _Where) -> Iterator[Binding]:
    kind: Kind = "import" if isinstance(node, ast.Import) else "from"
    for alias in node.names:
        bound = alias.asname or (alias.name.partition(".")[0] if kind == "import" else alias.name)
        yield where.binding(kind, bound, node, alias=alias)


def _of_clauses(node: ast.stmt, where: _Where) -> Iterator[Binding]:
    for handler in getattr(node, "handlers", ()):
        if handler.name:
            yield where.in_handler().binding("except", handler.name, handler)
    for case in getattr(node, "cases", ()):
        for part in walk(case.pattern):
            name = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(name, str):
                yield where.binding("match", name, part)


def _of_targets(node: ast.stmt, where: _Where) -> Iterator[Binding]:
    kind, targets = _targets(node)
    for target in targets:
        for name in _names_in(target):
            yield where.binding(kind, name.id, node, target=name)


def _targets(node: ast.stmt) -> tuple[Kind, list[ast.expr]]:
    if isinstance(node, ast.Assign):
        return "assign", node.targets
    if isinstance(node, ast.AnnAssign):
        return ("assign" if node.value is not None else "declare"), [node.target]
    if isinstance(node, ast.AugAssign):
        return "augassign", [node.target]
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return "for", [node.target]
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return "with", [item.optional_vars for item in node.items if item.optional_vars is not None]
    if isinstance(node, ast.Delete):
        return "del", node.targets
    return "assign", []


def _names_in(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from _names_in(item)
    elif isinstance(target, ast.Starred):
        yield from _names_in(target.value)


def _of_walruses(node: ast.stmt, where: _Where) -> Iterator[Binding]:
    """`name := value` in the statement's own expressions; one in a comprehension binds outside it."""
    pending = deque(part for part in children(node, ":=") if not isinstance(part, ast.stmt))
    while pending:
        part = pending.popleft()
        if isinstance(part, ast.NamedExpr):
            yield where.binding("walrus", part.target.id, part, target=part.target)
        if not isinstance(part, (*_SCOPES, ast.stmt, ast.excepthandler, ast.match_case)):
            pending.extend(children(part))
