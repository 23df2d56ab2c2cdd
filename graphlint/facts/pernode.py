"""What follows from a syntax tree alone is worked out once for each node and kept on it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import TypeVar

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
        looks = known.get("_looks")
        if looks is None:
            if slot not in known:
                known[slot] = read(node)
            return known[slot]  # type: ignore[no-any-return]
        if slot not in known:
            with looks.aside() as parts:
                fact = read(node)
            known[slot] = (fact, parts)
        fact, parts = known[slot]
        looks.parts |= parts
        return fact

    return remembered
