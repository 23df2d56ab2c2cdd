"""What a top-level name means: followed through imports, re-exports and star imports to its definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.facts import nodes as ast
from graphlint.facts.bindings import Binding
from graphlint.facts.modules import ModuleFile
from graphlint.facts.project import Project


@dataclass(frozen=True, slots=True)
class Defined:
    """The name is bound in `module` by a statement that is no import."""

    module: ModuleFile
    binding: Binding


@dataclass(frozen=True, slots=True)
class Imported:
    """The name is a module of the project."""

    module: ModuleFile


@dataclass(frozen=True, slots=True)
class External:
    """The name comes from outside the project: `torch.cuda.graph`."""

    dotted: str


Meaning = Defined | Imported | External


def resolve(project: Project, module: ModuleFile, name: str) -> list[Meaning]:
    """Everything that `name` can mean at the top level of a module, in the order of its bindings.

    Branches and handlers give several meanings. Circular imports end; a name nobody binds gives none.
    """
    return list(dict.fromkeys(_resolve(project, module, name, set())))


_Seen = set[tuple[str, str]]


def _resolve(project: Project, module: ModuleFile, name: str, seen: _Seen) -> Iterator[Meaning]:
    key = (str(module.path), name)
    if key in seen:
        return
    seen.add(key)
    bindings = [binding for binding in module.bindings.get(name, ()) if binding.kind != "del"]
    for binding in bindings:
        yield from _of_binding(project, module, binding, seen)
    if not bindings and name != "*":
        for node in module.star_imports:
            yield from _through_star(project, module, node, name, seen)


def _of_binding(project: Project, module: ModuleFile, binding: Binding, seen: _Seen) -> Iterator[Meaning]:
    node, alias = binding.node, binding.alias
    if isinstance(node, ast.ImportFrom) and alias is not None:
        yield from _member(project, module, project.resolve_import(module, node), alias.name, seen)
    elif isinstance(node, ast.Import) and alias is not None:
        dotted = alias.name if alias.asname else binding.name
        found = project.module(dotted, module)
        yield Imported(found) if found else External(dotted)
    else:
        yield Defined(module, binding)


def _member(project: Project, importer: ModuleFile, dotted: str, name: str, seen: _Seen) -> Iterator[Meaning]:
    """What `from dotted import name` gives: a binding of that module first, else its submodule."""
    source = project.module(dotted, importer)
    meanings = list(_resolve(project, source, name, seen)) if source else []
    if not meanings:
        inner = project.submodule(dotted, name, importer)
        if inner:
            meanings = [Imported(inner)]
        elif source is None:
            meanings = [External(f"{dotted}.{name}")]
    yield from meanings


def _through_star(
    project: Project, module: ModuleFile, node: ast.ImportFrom, name: str, seen: _Seen
) -> Iterator[Meaning]:
    dotted = project.resolve_import(module, node)
    source = project.module(dotted, module)
    if source is None:
        yield External(f"{dotted}.{name}")
    elif name in source.exports or ("__all__" not in source.bindings and not name.startswith("_")):
        yield from _resolve(project, source, name, seen)
