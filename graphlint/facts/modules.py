"""One parsed file as a module: what it binds at its top level, what it exports, its functions and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphlint.facts.bindings import Binding, Guards, bindings_of, global_bindings_of
from graphlint.facts.source import Source

__all__ = ["Binding", "Definition", "Guards", "ModuleFile"]

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(eq=False)
class ModuleFile:
    """A file that was read as program.

    `display` is the path as shown to users; `name` is the dotted module name, `is_package` whether the
    file is an `__init__.py`. Everything derived from the tree is computed at its first use, once.
    Two module files are equal only when they are the same object.
    """

    path: Path
    display: str
    name: str
    is_package: bool
    source: Source = field(repr=False)

    @property
    def tree(self) -> ast.Module:
        return self.source.tree

    @property
    def package(self) -> str:
        """The dotted name of the package that relative imports of this file start from; may be empty."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """The top-level bindings of each name, in the order of the text.

        Branches, handlers, `with` and loop bodies are included; bodies of functions and classes are not.
        """
        found: dict[str, list[Binding]] = {}
        for binding in bindings_of(self.tree.body, walruses=":=" in self.source.text):
            found.setdefault(binding.name, []).append(binding)
        return found

    @cached_property
    def global_bindings(self) -> dict[str, list[Binding]]:
        """What functions assign to names of this module that they declare `global`; `owner` says which."""
        found: dict[str, list[Binding]] = {}
        for qualname, node in self.functions() if "global" in self.source.text else ():
            if not isinstance(node, ast.ClassDef):
                for binding in global_bindings_of(qualname, node):
                    found.setdefault(binding.name, []).append(binding)
        return found

    @cached_property
    def star_imports(self) -> list[ast.ImportFrom]:
        """The `from x import *` statements of the top level, in order."""
        bound = self.bindings.get("*", ())
        return [binding.node for binding in bound if isinstance(binding.node, ast.ImportFrom)]

    @cached_property
    def exports(self) -> frozenset[str]:
        """The names that `from this import *` takes, its own star imports not counted.

        `__all__` where it is built from literals only, else every name without a leading underscore.
        """
        declared = _literal_all(self.bindings.get("__all__", ()))
        if declared is not None:
            return frozenset(declared)
        return frozenset(name for name in self.bindings if not name.startswith("_") and name != "*")

    @cached_property
    def _definitions(self) -> list[tuple[str, Definition]]:
        return list(_walk_definitions(self.tree))

    def functions(self) -> Iterator[tuple[str, Definition]]:
        """Every function and class with its qualified name (`Class.method`, `outer.inner`), in text order."""
        return iter(self._definitions)

    @cached_property
    def classes(self) -> list[tuple[str, ast.ClassDef]]:
        """The classes of the top level, in text order."""
        found = self._definitions
        return [(name, node) for name, node in found if isinstance(node, ast.ClassDef) and "." not in name]

    @cached_property
    def imported_as(self) -> dict[str, set[str]]:
        """What the module calls the names that it imports at its top level."""
        found: dict[str, set[str]] = {}
        for name, bound in self.bindings.items():
            for binding in bound:
                if binding.alias is not None:
                    found.setdefault(binding.alias.name, set()).add(name)
        return found

    @cached_property
    def _by_qualname(self) -> dict[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        for qualname, node in self._definitions:
            found.setdefault(qualname, []).append(node)
        return found

    def definitions(self, qualname: str) -> Sequence[Definition]:
        """The definitions under a qualified name; several where branches or overloads repeat it."""
        return self._by_qualname.get(qualname, ())


def _walk_definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Depth first over statements only (no expression can hold a definition), without recursion."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + node.name, node
            prefix = f"{prefix}{node.name}."
        pending.extend((prefix, child) for child in reversed(_statements_below(node)))


def _statements_below(node: ast.AST) -> list[ast.AST]:
    below: list[ast.AST] = []
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        value = getattr(node, part, None)
        if isinstance(value, list):
            below.extend(value)
    return below


def _literal_all(bindings: Sequence[Binding]) -> list[str] | None:
    """The names of `__all__`, or None when it is absent or any part of it is computed."""
    names: list[str] = []
    for binding in bindings:
        part = _literal_names(getattr(binding.node, "value", None))
        if part is None:
            return None
        names = part if binding.kind == "assign" and not binding.guards else names + part
    return names if bindings else None


def _literal_names(value: ast.AST | None) -> list[str] | None:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        left, right = _literal_names(value.left), _literal_names(value.right)
        return None if left is None or right is None else left + right
    if not isinstance(value, (ast.List, ast.Tuple)):
        return None
    constants = [item.value for item in value.elts if isinstance(item, ast.Constant)]
    names = [name for name in constants if isinstance(name, str)]
    return names if len(names) == len(value.elts) else None
