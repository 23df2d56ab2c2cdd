"""Module-level state that other statements fill: registries, tables, ambient objects.

A global is evaluated when somebody asks for it, so what the rest of the program does to it while it is
imported must be done then: `TABLE["a"] = A`, `registry.register(A)`, `@register("a")`, here and in the
modules that import the name or a function that fills it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import functions, names, statements
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Mapping, Obj, Sequence_, Value

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import Binding, ModuleFile

MOST_FILES = 40
_FILLED = frozenset({"dispatch", "contextvars.ContextVar", "threading.local", "types.SimpleNamespace"})
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_filled_later(value: Value) -> bool:
    """Whether a global is of a kind that other statements put things into."""
    if isinstance(value, Obj):
        return (
            isinstance(value.cls, ClassInfo) or value.cls in _FILLED or value.cls.startswith("torch.library")
        )
    return isinstance(value, Mapping) or (isinstance(value, Sequence_) and value.kind in ("list", "set"))


def fill(m: Machine, module: ModuleFile, name: str) -> None:
    """Run the statements that change the global `name` while the program is imported."""
    fillers = {name, *_filling_functions(module, name)}
    for statement in _changing(module.tree.body, fillers):
        run(m, module, statement)
    for other, known_as in _importers(m, module, fillers):
        for statement in _changing(other.tree.body, known_as):
            run(m, other, statement)


def _filling_functions(module: ModuleFile, name: str) -> Iterator[str]:
    """The functions of a module that change one of its globals."""
    for node in module.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            _is_change(part, {name}) for part in ast.walk(node)
        ):
            yield node.name


def _changing(body: list[ast.stmt], fillers: set[str]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, _Definition):
            if any(_is_on(item, fillers) for item in statement.decorator_list):
                yield statement
        elif not _is_main(statement) and any(_is_change(part, fillers) for part in ast.walk(statement)):
            yield statement


def _is_change(node: ast.AST, fillers: set[str]) -> bool:
    """`F[...] = `, `F.a = `, `F.method(...)` or `F(...)` as a statement, for a name F."""
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return _is_on(node, fillers)
    return (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_on(node.value.func, fillers)
    )


def _is_on(node: ast.expr, fillers: set[str]) -> bool:
    """Whether an expression starts at one of the names, which may be `module.name`."""
    path: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Attribute):
            path.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    if not isinstance(node, ast.Name):
        return False
    path.append(node.id)
    return node.id in fillers or ".".join(reversed(path[-2:])) in fillers


def _is_main(statement: ast.stmt) -> bool:
    """`if __name__ == "__main__":` does not run on import."""
    return isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)


def _importers(m: Machine, module: ModuleFile, fillers: set[str]) -> Iterator[tuple[ModuleFile, set[str]]]:
    """The other files that import one of the names from `module`, each with what it calls them there."""
    holders = set(m.project.mention_paths(module.name.rpartition(".")[2]))
    mentioning = sorted({path for name in fillers for path in m.project.mention_paths(name)} & holders)
    for path in mentioning[:MOST_FILES]:
        other = m.project.file(path)
        if other is not None and other is not module:
            known_as = {
                local
                for name, bound in other.bindings.items()
                for binding in bound
                for local in _locals(m, other, binding, module, fillers, name)
            }
            if known_as:
                yield other, known_as


def _locals(
    m: Machine, other: ModuleFile, binding: Binding, module: ModuleFile, fillers: set[str], name: str
) -> list[str]:
    """What an import in `other` lets it call the names of `module`."""
    node, alias = binding.node, binding.alias
    if alias is None:
        return []
    if isinstance(node, ast.ImportFrom):
        origin = m.project.resolve_import(other, node)
        if alias.name in fillers and m.project.module(origin, other) is module:
            return [name]
        found = m.project.submodule(origin, alias.name)
    else:
        found = m.project.module(alias.name, other) if alias.asname or "." not in alias.name else None
    return [f"{name}.{filler}" for filler in fillers] if found is module else []


def run(m: Machine, module: ModuleFile, statement: ast.stmt) -> None:
    """Run one top-level statement of a module for what it does to other things."""
    frame = Frame(module, m.env_of(module), "<module>")
    if isinstance(statement, _Definition) and len(module.bindings.get(statement.name, ())) == 1:
        names.module_attribute(m, module, statement.name)
        return
    m.frames.append(frame)
    try:
        if isinstance(statement, ast.ClassDef):
            functions.define_class(m, statement, frame)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.define_function(m, statement, frame)
        else:
            statements.execute(m, [statement], frame)
    finally:
        m.frames.pop()
