"""The module `ast` with small nodes: what stays of a file in memory is nearly all nodes of its tree.

Python keeps the fields of a node in a dictionary of its own, of 184 or 272 bytes, and a number for every line
and column that it begins and ends in. Small nodes have slots, numbers of which there is one each, and one
empty list among them all: together a third of the memory. Their kinds have the names of Python's and stand
in for them here: all of the analysis has them from this module (`from graphlint.facts import nodes as ast`),
so `type(node) is ast.Name` says what it seems to say. Only nodes with blocks of statements, and those without
fields, are as Python makes them.
"""

from __future__ import annotations

import ast as _python
import sys
from ast import *  # noqa: F403
from collections.abc import Callable
from typing import Any

# Names, texts, numbers and marks; `ctx`, `op` and `ops` hold nodes, but none that anybody asks a walk for.
_LEAVES = frozenset(
    {
        "arg",
        "asname",
        "attr",
        "conversion",
        "ctx",
        "id",
        "is_async",
        "kind",
        "kwd_attrs",
        "level",
        "module",
        "name",
        "op",
        "ops",
        "rest",
        "simple",
        "tag",
        "type_comment",
        "type_ignores",
    }
)
# Their fields of other names hold no node either.
_CHILDLESS = (_python.Constant, _python.Global, _python.Nonlocal, _python.MatchSingleton)
KINDS_WITH_BLOCKS: tuple[type[_python.AST], ...] = (
    *(
        _python.Module,
        _python.FunctionDef,
        _python.AsyncFunctionDef,
        _python.ClassDef,
        _python.If,
        _python.For,
    ),
    *(_python.AsyncFor, _python.While, _python.With, _python.AsyncWith, _python.Try, _python.Match),
    *(_python.ExceptHandler, _python.match_case),
    *((_python.TryStar,) if hasattr(_python, "TryStar") else ()),  # Python 3.11
)
_LINES = ("lineno", "end_lineno")
_SELDOM = ("kind", "type_comment")  # not there, as a rule: they have no slot
_DEEPEST = 50_000  # Python's parser makes no tree so deep
_Kind = type[_python.AST]


class _Parts(dict[_Kind, tuple[str, ...]]):
    def __missing__(self, kind: _Kind) -> tuple[str, ...]:
        fields = () if issubclass(kind, _CHILDLESS) else kind._fields
        leaves = _LEAVES - {"name"} if kind.__name__ == "TypeAlias" else _LEAVES
        self[kind] = tuple(name for name in fields if name not in leaves)
        return self[kind]


PARTS = _Parts()
"""The fields of each kind of node that may hold nodes."""


def _small(kind: _Kind) -> _Kind:
    """The kind of small nodes like those of a kind, by the same name."""
    slots = (*(name for name in kind._fields if name not in _SELDOM), *kind._attributes)
    return type(kind.__name__, (kind,), {"__slots__": slots, "__module__": __name__})


def _becomes_small(kind: Any) -> bool:
    """Whether there are small nodes of a kind; not of abstract and outdated ones, nor of operators."""
    if type(kind) is not type or not issubclass(kind, _python.AST):
        return False
    return bool(kind._fields) and not issubclass(kind, (_python.mod, *KINDS_WITH_BLOCKS))


_SMALL: dict[_Kind, _Kind] = {kind: _small(kind) for kind in vars(_python).values() if _becomes_small(kind)}
globals().update({kind.__name__: kind for kind in _SMALL.values()})


def parse(source: str, *, mode: str = "exec") -> Any:  # type: ignore[no-redef]
    """The syntax tree of a text, as `ast.parse` gives it, of small nodes."""
    tree = _python.parse(source, mode=mode)
    make_small(tree)
    return tree


# --- making them -----------------------------------------------------------------------------------

_Make = Callable[[Any, int], Any]
_one_each: dict[int, int] = {}
_NOTHING: list[Any] = []


class _Makers(dict[type, _Make]):
    """By the type of what a field holds: what makes it small, its lines moved by a number."""

    def __missing__(self, kind: type) -> _Make:
        self[kind] = _maker(kind) if kind in _SMALL else _as_it_is
        return self[kind]


def _as_it_is(held: Any, lines: int) -> Any:
    return held


def _list(held: list[Any], lines: int) -> list[Any]:
    if not held:
        return _NOTHING
    made = held.copy()
    for at, part in enumerate(held):
        made[at] = _makers[type(part)](part, lines)
    return made


_makers = _Makers({list: _list})


def _maker(kind: _Kind) -> _Make:
    """What makes a small node from one of a kind: written for the kind, since it is called for every node."""
    parts, made = PARTS[kind], _SMALL[kind]
    text = ["def make(node, lines):", " made = new(kind)"]
    for name in kind._fields:
        value = f"makers[type(node.{name})](node.{name}, lines)" if name in parts else f"node.{name}"
        condition = f"if node.{name} is not None: " if name in _SELDOM else ""
        text.append(f" {condition}made.{name} = {value}")
    for name in kind._attributes:
        text += [f" at = node.{name}{' + lines' * (name in _LINES)}", f" made.{name} = one(at, at)"]
    known = {"new": made.__new__, "kind": made, "makers": _makers, "one": _one_each.setdefault}
    exec("\n".join([*text, " return made"]), known)
    return known["make"]  # type: ignore[return-value]


def make_small(tree: _python.AST, lines: int = 0) -> None:
    """Make all nodes of a tree small but those with blocks of statements, and move it by a number of lines.

    Nobody may hold other nodes of the tree than those with blocks.
    """
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, _DEEPEST))
    try:
        pending = [tree]
        while pending:
            _make_parts_small(pending.pop().__dict__, lines, pending)
    finally:
        sys.setrecursionlimit(usual)


def _make_parts_small(held: dict[str, Any], lines: int, pending: list[_python.AST]) -> None:
    for name, value in held.items():
        if type(value) is list:
            held[name] = [_made(part, lines, pending) for part in value] or _NOTHING
        elif isinstance(value, _python.AST):
            held[name] = _made(value, lines, pending)
        elif name in _LINES:
            held[name] = _one_each.setdefault(value + lines, value + lines)


def _made(part: Any, lines: int, pending: list[_python.AST]) -> Any:
    """A part of a node, made small unless it has blocks, which are `pending` then."""
    if isinstance(part, KINDS_WITH_BLOCKS):
        pending.append(part)
        return part
    made = _makers[type(part)](part, lines)
    if made is part and lines and hasattr(part, "lineno"):  # `pass`, say
        part.lineno, part.end_lineno = part.lineno + lines, part.end_lineno + lines
    return made
