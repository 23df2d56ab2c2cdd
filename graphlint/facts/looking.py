"""Who looks at a function's body is noted: the nodes of functions tell it themselves.

The analysis walks syntax trees from very many places. So that none of them can forget to say what its answer
rests on, a function of a parsed file is a node whose `body` notes that it was asked for.
"""

from __future__ import annotations

from typing import Any, TypeVar

from graphlint.facts import nodes as ast
from graphlint.facts.nodes import KINDS_WITH_BLOCKS
from graphlint.facts.trace import Part

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
RUN = "run "
"""What the part of a function's body is called: this and the function's qualified name."""


class Looks:
    """Where it is noted what is looked at; `parts` is replaced for each task."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: set[Part] = set()

    def aside(self) -> _Aside:
        """Note what is looked at in a set of its own meanwhile."""
        return _Aside(self)


class _Aside:
    """Not a generator, which takes three times as long."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._usual = looks.parts

    def __enter__(self) -> set[Part]:
        self._looks.parts = set()
        return self._looks.parts

    def __exit__(self, *_: object) -> None:
        self._looks.parts = self._usual


def _body(node: ast.AST) -> list[ast.stmt]:
    held = node.__dict__
    held["_looks"].parts.add(held["_part"])
    if "_body" not in held:  # it is kept as text (`facts/bodies.py`)
        held["_body"] = held["_kept"].read()
    return held["_body"]  # type: ignore[no-any-return]


def _set_body(node: ast.AST, body: list[ast.stmt]) -> None:
    node.__dict__["_body"] = body


def _noting(kind: type[ast.AST]) -> type[ast.AST]:
    """A kind of node like `kind`, by the same name, for everything that goes by names of classes."""
    return type(kind.__name__, (kind,), {"__slots__": (), "body": property(_body, _set_body)})


_KINDS: dict[type[ast.AST], type[ast.AST]] = {
    kind: _noting(kind) for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
}
NOTING = frozenset(_KINDS.values())
SCOPES = frozenset({*_KINDS, *NOTING, ast.Lambda})
"""The types of nodes that are a scope of their own."""
_WITH_BLOCKS = NOTING.union(KINDS_WITH_BLOCKS)
_Given = TypeVar("_Given")


def by_type(table: dict[type[ast.AST], _Given]) -> dict[type[ast.AST], _Given]:
    """A table by types of nodes that serves the noting ones as well."""
    return table | {_KINDS[kind]: given for kind, given in table.items() if kind in _KINDS}


def start_of_body(node: Definition) -> tuple[int, int]:
    """Where the body of a function starts, decorators of what is defined there included; nothing is noted."""
    held = node.__dict__
    return held["_kept"].first if "_kept" in held else start_of(held["_body"][0])


def start_of(node: ast.AST) -> tuple[int, int]:
    """Where a statement starts, its decorators included; nothing is noted."""
    if isinstance(node, ast.match_case):
        return start_of(node.pattern)
    places = [node, *getattr(node, "decorator_list", ())]
    return min((place.lineno, place.col_offset) for place in places)


def may_say(node: ast.AST, word: str) -> bool:
    """False only for a function whose body is kept as text and lacks the word; that is noted."""
    held = node.__dict__
    if "_kept" not in held or held["_kept"].says(word):
        return True
    held["_looks"].parts.add(held["_part"])
    return False


def note_all(tree: ast.Module, path: str, looks: Looks) -> list[tuple[str, Definition]]:
    """Make all functions of a tree note that they are looked at; every definition with its qualified name.

    In text order. What is inside a function belongs to that function's part.
    """
    found: list[tuple[str, Definition]] = []
    pending: list[tuple[str, str, ast.AST]] = [("", "", tree)]
    while pending:  # depth first, over statements only: no expression can hold a definition
        prefix, part, node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append((prefix + node.name, node))
            node.__dict__["_whole"] = path, prefix + node.name
            prefix, is_class = f"{prefix}{node.name}.", isinstance(node, ast.ClassDef)
            part = part or ("" if is_class else RUN + prefix[:-1])
        below = statements_below(node)
        if part and type(node) in _KINDS:
            _make_noting(node, (path, part), looks)
        elif below and not part:
            node.__dict__["_looks"] = looks  # functions may lie below
        pending += [(prefix, part, child) for child in reversed(below)]
    return found


def _make_noting(node: ast.AST, part: Part, looks: Looks) -> None:
    held: dict[str, Any] = node.__dict__
    held["_body"] = held.pop("body")
    held["_part"], held["_looks"] = part, looks
    node.__class__ = _KINDS[type(node)]


def statements_below(node: ast.AST) -> list[ast.AST]:
    """The statements, handlers and cases directly inside a statement, in text order; nothing is noted."""
    below: list[ast.AST] = []
    if type(node) not in _WITH_BLOCKS:
        return below
    held = node.__dict__
    for name in ("body", "_body", "handlers", "cases", "orelse", "finalbody"):
        value = held.get(name)
        if type(value) is list:
            below += value
    return below
