"""Module-level state that other statements fill: registries, tables, ambient objects.

A global is evaluated when somebody asks for it, so what the rest of the program does to it while it is
imported must be done then: `TABLE["a"] = A`, `registry.register(A)`, `@register("a")`, here and in the
modules that import the name or a function that fills it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import definitions, names, statements, subclasses
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.own_text import functions_in
from graphlint.analysis.values import Class, Mapping, Obj, Sequence_, Value
from graphlint.facts import nodes as ast
from graphlint.facts.looking import may_say
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.questions import question
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import Binding, ModuleFile

MOST_FILES = 40
RUNNING = "statements that fill globals"
_FILLED = frozenset({"dispatch", "contextvars.ContextVar", "threading.local", "types.SimpleNamespace"})
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_filled_later(value: Value) -> bool:
    """Whether a global is of a kind that other statements put things into."""
    if type(value) is Obj:
        return (
            isinstance(value.cls, ClassInfo) or value.cls in _FILLED or value.cls.startswith("torch.library")
        )
    return type(value) is Mapping or (type(value) is Sequence_ and value.kind in ("list", "set"))


def fill(m: Machine, module: ModuleFile, name: str) -> None:
    """Run the statements that change the global `name` while the program is imported."""
    functions_ = set(functions_changing(module, name))
    for statement in _changing(module, {name, *functions_}):
        run(m, module, statement)
    for base in bases_noting(module, name):
        _define_below(m, module, base)
    fillers = functions_ if name.startswith("_") else {name, *functions_}
    for other, known_as in _importers(m, module, fillers):
        for statement in _changing(other, known_as):
            run(m, other, statement)


@question
def functions_changing(module: ModuleFile, name: str) -> tuple[str, ...]:
    """The top-level functions that change a global."""
    mentioning = [(each, node) for each, node in functions_in(module.tree).items() if may_say(node, name)]
    return tuple(sorted(each for each, node in mentioning if name in _changed_in(node)))


def _changing(module: ModuleFile, names_: set[str]) -> list[ast.stmt]:
    """The top-level statements that change one of the names."""
    changing_texts(module, " ".join(sorted(names_)))
    with module.looks.aside():
        return [statement for statement, _ in _statements_changing(module, names_)]


@question
def changing_texts(module: ModuleFile, names_: str) -> tuple[str, ...]:
    """The text of the statements that change one of the names; of definitions, without their bodies."""
    found = _statements_changing(module, set(names_.split(" ")))
    return tuple(repr(sorted(changed)) + _head(statement) for statement, changed in found)


def _head(statement: ast.stmt) -> str:
    return statement.name if isinstance(statement, _Definition) else ast.unparse(statement)


def _statements_changing(module: ModuleFile, names_: set[str]) -> list[tuple[ast.stmt, frozenset[str]]]:
    return [each for each in _changes_of(module.tree).statements if not each[1].isdisjoint(names_)]


@question
def bases_noting(module: ModuleFile, name: str) -> tuple[str, ...]:
    """The top-level classes that note each class derived from them in a global."""
    changes = _changes_of(module.tree).bases
    return tuple(sorted(base for base, changed in changes.items() if name in changed))


def _define_below(m: Machine, module: ModuleFile, base: str) -> None:
    value = names.module_attribute(m, module, base)
    if type(value) is Class:
        subclasses.define_all(m, value.info)


@dataclass(slots=True)
class _Changes:
    """What a module's top-level statements and bases change: names, or `module.name`."""

    statements: list[tuple[ast.stmt, frozenset[str]]] = field(default_factory=list)
    bases: dict[str, frozenset[str]] = field(default_factory=dict)  # for each class derived from them


@per_node
def _changes_of(tree: ast.Module) -> _Changes:
    found = _Changes()
    for statement in tree.body:
        _note_changes(statement, found)
    return found


def _note_changes(statement: ast.stmt, changes: _Changes) -> None:
    if isinstance(statement, _Definition):
        decorators = frozenset(name for item in statement.decorator_list for name in _starts(item))
        if decorators:
            changes.statements.append((statement, decorators))
        hook = _subclass_hook(statement) if isinstance(statement, ast.ClassDef) else None
        if hook is not None:
            changes.bases[statement.name] = _changed_in(hook)
    elif not _is_main(statement):
        changed = _changed_in(statement)
        if changed:
            changes.statements.append((statement, changed))


def _subclass_hook(node: ast.ClassDef) -> ast.FunctionDef | None:
    methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
    return next((item for item in methods if item.name == "__init_subclass__"), None)


@summary
def _changed_in(statement: ast.stmt) -> frozenset[str]:
    """Names F with `F[...] = `, `F.a = `, `F.method(...)` or `F(...)` as a statement."""
    found: set[str] = set()
    for node in walk(statement):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found |= _starts(node)
        elif type(node) is ast.Expr and type(node.value) is ast.Call:
            found |= _starts(node.value.func)
    return frozenset(found)


def _starts(node: ast.expr) -> set[str]:
    """The name that an expression starts with, and the first two parts of its path."""
    path: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if type(node) is ast.Attribute:
            path.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    if type(node) is not ast.Name:
        return set()
    return {node.id, f"{node.id}.{path[-1]}"} if path else {node.id}


def _is_main(statement: ast.stmt) -> bool:
    """`if __name__ == "__main__":` does not run on import."""
    return type(statement) is ast.If and "__name__" in ast.dump(statement.test)


def _importers(m: Machine, module: ModuleFile, fillers: set[str]) -> Iterator[tuple[ModuleFile, set[str]]]:
    """The other files that import one of the names from `module`, each with what it calls them there.

    A name that very many files use is left alone: half of a registry is worse than none.
    """
    for other in m.project.filling(*sorted(fillers), most=MOST_FILES):
        if other is not module:
            known_as = {
                local
                for binding in _imports(other)
                for local in _locals(m, other, binding, module, fillers, binding.name)
            }
            if known_as:
                yield other, known_as


def _imports(module: ModuleFile) -> list[Binding]:
    """The imports of the top level, each name of them on its own."""
    import_texts(module, "")
    with module.looks.aside():
        return list(_all_imports(module))


def _all_imports(module: ModuleFile) -> Iterator[Binding]:
    return (each for bound in module.bindings.values() for each in bound if each.alias is not None)


@question
def import_texts(module: ModuleFile, _: str) -> tuple[str, ...]:
    """The text of the imports of the top level."""
    return tuple(ast.unparse(each.node) for each in _all_imports(module))


def _locals(
    m: Machine, other: ModuleFile, binding: Binding, module: ModuleFile, fillers: set[str], name: str
) -> list[str]:
    """What an import in `other` lets it call the names of `module`."""
    node, alias = binding.node, binding.alias
    if alias is None:
        return []
    if type(node) is ast.ImportFrom:
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
    if isinstance(statement, _Definition):
        module.definitions(statement.name)  # its head is looked at
    if isinstance(statement, _Definition) and len(module.bindings.get(statement.name, ())) == 1:
        names.module_attribute(m, module, statement.name)
        return
    running: list[ast.stmt] = m.memo.setdefault(RUNNING, [])
    if any(statement is other for other in running):
        return  # it has come to a global that it fills itself
    running.append(statement)
    m.frames.append(frame)
    try:
        if isinstance(statement, ast.ClassDef):
            definitions.define_class(m, statement, frame)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            definitions.define_function(m, statement, frame)
        else:
            statements.execute(m, [statement], frame)
    finally:
        m.frames.pop()
        running.pop()
