"""What follows from a syntax tree alone is worked out once for each node and kept on it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from graphlint.facts import nodes as ast
from graphlint.facts.looking import Looks

_Node = TypeVar("_Node", bound=ast.AST)
_Fact = TypeVar("_Fact")


def per_node(read: Callable[[_Node], _Fact]) -> Callable[[_Node], _Fact]:
    """Make a function of one node remember its result; it must depend on nothing but the node's tree.

    Where functions may lie below the node, it is remembered as well which of them were looked at.
    """
    slot = f"{read.__module__}.{read.__qualname__}"

    @functools.wraps(read)
    def remembered(node: _Node) -> _Fact:
        known = node.__dict__
        if "_looks" not in known:
            if slot not in known:
                known[slot] = read(node)
            return known[slot]  # type: ignore[no-any-return]
        looks = known["_looks"]
        if slot not in known:
            with looks.aside() as parts:
                fact = read(node)
            known[slot] = (fact, tuple(parts))  # a set takes five times the memory of one part
        fact, parts = known[slot]
        looks.parts.update(parts)
        return fact

    return remembered


_SUMMARISED = " summary"
SUMMARY = "summary "
"""What the part of a summary is called: this, the function that makes it, and the definition's name."""


def summary(read: Callable[[_Node], _Fact]) -> Callable[[_Node], _Fact]:
    """`per_node` for results without nodes in them: sets of names, marks, texts.

    Of a definition it is remembered that its summary was looked at, not its body: who asks for nothing else
    need not know of a change that leaves the summary as it is.
    """
    usual = per_node(read)
    plain = f"{read.__module__}.{read.__qualname__}"
    slot = f"{plain}{_SUMMARISED}"
    name = f"{SUMMARY}{read.__module__}:{read.__qualname__} "

    @functools.wraps(read)
    def summarised(node: _Node) -> _Fact:
        known = node.__dict__
        if "_whole" not in known:  # mostly a test, in which no function lies
            return known[plain] if plain in known and "_looks" not in known else usual(node)
        if slot not in known:
            known[slot] = _apart(usual, node, name)
        fact, part = known[slot]
        known["_looks"].parts.add(part)
        return fact  # type: ignore[no-any-return]

    return summarised


def is_of_nodes(name: str) -> bool:
    """Whether an attribute of a node is such a result that may hold nodes."""
    return "." in name and not name.endswith(_SUMMARISED)


def _apart(read: Callable[[_Node], _Fact], node: _Node, name: str) -> tuple[_Fact, tuple[str, str]]:
    held: dict[str, Any] = node.__dict__
    looks: Looks = held["_looks"]
    path, qualname = held["_whole"]
    with looks.aside():
        return read(node), (path, name + qualname)
