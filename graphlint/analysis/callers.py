"""Definitions in other files that use the roots of a file: arguments come from there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.analysis import own_text, roots
from graphlint.analysis.roots import Root
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project

FILES_PER_NAME = 8
DEEPEST_CALLER = 4


def callers_of(project: Project, module: ModuleFile, own: Sequence[Root], most: int) -> Iterator[Root]:
    """At most `most` roots in other files that import and use one of `own`, in a fixed order."""
    callers = _Callers(project, module, own, most)
    found = list(callers.find())
    goals = frozenset({root.qualname for root in own} | callers.openers | callers.leading)
    for root in found:
        yield replace(root, goals=goals)


class _Callers:
    """Finds definitions in other files that import an involved one and use it: arguments come from there."""

    def __init__(self, project: Project, module: ModuleFile, own: Sequence[Root], most: int) -> None:
        self.project = project
        self.module = module
        self.openers = {name for root in own for name in _openers(root.node)}
        involved = {root.qualname for root in own}
        self.involved = {id(module): involved}
        capturing = roots.by_text(roots.top_of(module))
        self.pending: deque[tuple[ModuleFile, str, int, roots.Uses]] = deque(
            (module, name, 1, roots.names_of if name in capturing or name == "<module>" else roots.calling)
            for name in sorted(involved)
        )
        self.left = most
        self.leading: set[str] = set()  # the callers, also those that are not run for themselves

    def find(self) -> Iterator[Root]:
        yield from self._of_openers()
        while self.pending and self.left > 0:
            module, name, depth, used_by = self.pending.popleft()
            if name.startswith(("<", "__", "test_")) or name == "main":
                continue
            for path in self._files(module, name):
                yield from self._in_file(path, module, name, depth, used_by)

    def _of_openers(self) -> Iterator[Root]:
        """The definitions that call a method which returns a capture context, on whatever object."""
        for name in sorted(self.openers):
            for path in self.project.calling_paths(name)[:FILES_PER_NAME]:
                file = self.project.file(path)
                for caller, node in roots.top_of(file) if file is not None else ():
                    if self.left > 0 and name in _called_methods(node):
                        self.left -= 1
                        assert file is not None
                        self.involved.setdefault(id(file), set()).add(caller)
                        self.leading.add(caller)
                        yield Root(file, caller, node)

    def _files(self, module: ModuleFile, name: str) -> list[Path]:
        """The files that mention a name, first those that call it."""
        found = dict.fromkeys([*self.project.calling_paths(name), *self.project.mention_paths(name)])
        return [path for path in found if path != module.path][:FILES_PER_NAME]

    def _in_file(
        self, path: Path, module: ModuleFile, name: str, depth: int, used_by: roots.Uses
    ) -> Iterator[Root]:
        file = self.project.file(path)
        local = local_names(self.project, file, module, name) if file is not None else set()
        if file is None or not local:
            return
        top = roots.top_of(file)
        known = self.involved.setdefault(id(file), set())
        direct = {caller for caller, node in top if used_by(node) & local}
        callers = roots.spread(top, direct, used_by) - known
        known |= callers
        self.leading |= callers
        if "<module>" not in known and _body_uses(file, local | callers):
            known.add("<module>")
            self.left -= 1
            yield Root(file, "<module>", file.tree)
        for caller, node in top:
            if caller in callers and self.left > 0:
                self.left -= 1
                yield Root(file, caller, node)
                if depth < DEEPEST_CALLER:
                    self.pending.append((file, caller, depth + 1, used_by))


@summary
def _openers(tree: ast.AST) -> frozenset[str]:
    """The methods of a class that return a capture context for others to enter."""
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return frozenset(
        method.name
        for method in body
        if isinstance(method, ast.FunctionDef)
        for part in walk(method)
        if type(part) is ast.Return and type(part.value) is ast.Call
        if part.value.args
        and own_text.text_of(part.value).captures
        and method.name not in operations.listed("capturing")
    )


@summary
def _called_methods(tree: ast.AST) -> frozenset[str]:
    """The names that a definition calls as methods."""
    calls = (part.func for part in walk(tree) if type(part) is ast.Call)
    return frozenset(function.attr for function in calls if type(function) is ast.Attribute)


def _body_uses(module: ModuleFile, names: set[str]) -> bool:
    """Whether the statements of a script, its main guard included, use one of the names."""
    return roots.body_makes(module, names) or any(
        own_text.text_of(s).names & names
        for s in module.tree.body
        if not isinstance(s, (*roots.DEFINITIONS, ast.Assign, ast.AnnAssign))
    )


@per_node
def imports_in(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The import statements of a file, those inside functions included."""
    return [node for node in walk(tree, "import") if isinstance(node, (ast.Import, ast.ImportFrom))]


def local_names(project: Project, file: ModuleFile, module: ModuleFile, name: str) -> set[str]:
    """What `file` calls the definition `name` of `module`: the names after an import, or its attribute."""
    found: set[str] = set()
    for node in imports_in(file.tree):
        if type(node) is ast.ImportFrom:
            found |= _from_import(project, file, node, module, name)
        elif any(project.module(alias.name, file) is module for alias in node.names):
            found.add(name)
    return found


def _from_import(
    project: Project, file: ModuleFile, node: ast.ImportFrom, module: ModuleFile, name: str
) -> set[str]:
    origin = project.resolve_import(file, node)
    found: set[str] = set()
    for alias in node.names:
        if alias.name == name and _leads_to(project, origin, file, module, name):
            found.add(alias.asname or name)
        elif project.submodule(origin, alias.name, file) is module:
            found.add(name)
    return found


def _leads_to(project: Project, origin: str, file: ModuleFile, module: ModuleFile, name: str) -> bool:
    """Whether importing `name` from `origin` gives the definition in `module`, perhaps re-exported."""
    target = project.module(origin, file)
    if target is None or target is module:
        return target is module
    return (
        all(binding.kind == "from" for binding in target.bindings.get(name, ())) and name in target.bindings
    )
