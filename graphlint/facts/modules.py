"""One parsed file as a module: what it binds at its top level, what it exports, its functions and classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graphlint.facts import bodies
from graphlint.facts import nodes as ast
from graphlint.facts.bindings import Binding, Guards, bindings_of
from graphlint.facts.looking import RUN, Definition, Looks, note_all
from graphlint.facts.nodes import make_small
from graphlint.facts.source import Source

__all__ = ["Binding", "Definition", "Guards", "ModuleFile"]

# What the parts of a file are called, beside the bodies of its functions (`looking.RUN`).
READABLE = "readable"
TEXT = "text"
SHAPE = "shape"
BOUND = "bound "
DEFINED = "defined "
EXPORTS = "exports"


@dataclass(eq=False)
class ModuleFile:
    """A file that was read as program.

    `display` is the path as shown to users; `name` is the dotted module name, `is_package` whether the
    file is an `__init__.py`. Everything derived from the tree is computed at its first use, once.
    Two module files are equal only when they are the same object.

    What is asked of a module is noted in `looks`, by the parts that `facts/outline.py` describes. `notes` is
    what the analysis has marked on the tree that does not stand in it.
    """

    path: Path
    display: str
    name: str
    is_package: bool
    source: Source = field(repr=False)
    looks: Looks = field(repr=False, default_factory=Looks)
    notes: set[str] = field(repr=False, default_factory=set)
    answers: dict[str, Any] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._at = str(self.path)
        self._definitions = note_all(self.source.tree, self._at, self.looks)
        bodies.keep_as_text(self.source, self._definitions)
        make_small(self.source.tree)

    def look_at(self, part: str) -> None:
        """Note that a part of this file is looked at."""
        self.looks.parts.add((self._at, part))

    def look_into(self, qualname: str) -> None:
        """Note that a function is looked at, its head and its body."""
        self.look_at(DEFINED + qualname)
        self.look_at(RUN + qualname)

    def let_go(self) -> None:
        """Free the syntax tree now: else only a search for garbage would, slowly and late.

        The module is of no use afterwards.
        """
        for _, node in self._definitions:
            if "_kept" in node.__dict__:
                node.__dict__.setdefault("_body", [])
        bodies.let_go(self.source.tree)

    @property
    def held(self) -> int:
        """How much of the text the syntax tree holds."""
        return self.source.size - self.source.unread

    @property
    def tree(self) -> ast.Module:
        self.look_at(SHAPE)
        return self.source.tree

    @property
    def package(self) -> str:
        """The dotted name of the package that relative imports of this file start from; may be empty."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def bindings(self) -> Bindings:
        """The top-level bindings of each name, in the order of the text.

        Branches, handlers, `with` and loop bodies are included; bodies of functions and classes are not.
        """
        found: dict[str, list[Binding]] = {}
        with self.looks.aside():
            for binding in bindings_of(
                self.source.tree.body, walruses=self.source.says(":=", 0, self.source.size)
            ):
                found.setdefault(binding.name, []).append(binding)
        return Bindings(self, found)

    @property
    def star_imports(self) -> list[ast.ImportFrom]:
        """The `from x import *` statements of the top level, in order."""
        bound = self.bindings.get("*", ())
        return [binding.node for binding in bound if isinstance(binding.node, ast.ImportFrom)]

    @property
    def exports(self) -> frozenset[str]:
        """The names that `from this import *` takes, its own star imports not counted.

        `__all__` where it is built from literals only, else every name without a leading underscore.
        """
        self.look_at(EXPORTS)
        return self._exports

    @cached_property
    def _exports(self) -> frozenset[str]:
        with self.looks.aside():
            declared = _literal_all(self.bindings.get("__all__", ()))
            if declared is not None:
                return frozenset(declared)
            return frozenset(name for name in self.bindings if not name.startswith("_") and name != "*")

    def functions(self) -> Iterator[tuple[str, Definition]]:
        """Every function and class with its qualified name (`Class.method`, `outer.inner`), in text order."""
        self.look_at(SHAPE)
        return iter(self._definitions)

    @property
    def classes(self) -> list[tuple[str, ast.ClassDef]]:
        """The classes of the top level, in text order."""
        found = self.functions()
        return [(name, node) for name, node in found if isinstance(node, ast.ClassDef) and "." not in name]

    @property
    def imported_as(self) -> dict[str, set[str]]:
        """What the module calls the names that it imports at its top level."""
        self.look_at(SHAPE)
        return self._imported_as

    @cached_property
    def _imported_as(self) -> dict[str, set[str]]:
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
        self.look_at(DEFINED + qualname)
        return self._by_qualname.get(qualname, ())


class Bindings(Mapping[str, "list[Binding]"]):
    """The bindings of a module by name; which name is asked for is noted."""

    def __init__(self, module: ModuleFile, found: dict[str, list[Binding]]) -> None:
        self._module = module
        self._found = found

    def __getitem__(self, name: str) -> list[Binding]:
        self._module.look_at(BOUND + name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        self._module.look_at(SHAPE)
        return iter(self._found)

    def __len__(self) -> int:
        self._module.look_at(SHAPE)
        return len(self._found)


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
