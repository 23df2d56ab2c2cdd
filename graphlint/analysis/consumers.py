"""Functions that are given an object which captures or replays, told by what they do with a parameter.

`def train(worker, loader)` that calls `worker.generate(...)`, and nothing that the class with this method
lacks, is a user of that class although it names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphlint.analysis import signatures
from graphlint.analysis.classes import Def
from graphlint.analysis.own_text import functions_in, text_of
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

Members = tuple[frozenset[str], frozenset[str]]
"""The names that a class has, and those of its methods that capture or replay."""


def consumers_of(top: Sequence[tuple[str, Def | ast.ClassDef]]) -> set[str]:
    """The functions of a module that use one of its capturing classes through a parameter."""
    classes = [
        members for _, node in top if isinstance(node, ast.ClassDef) and (members := _members(node))[1]
    ]
    functions = [(name, node) for name, node in top if not isinstance(node, ast.ClassDef)]
    return {name for name, node in functions if classes and _uses_one_of(node, classes)}


def _uses_one_of(function: Def, classes: Iterable[Members]) -> bool:
    used = _used_of_parameters(function)
    return any(
        attributes <= names and calls & working
        for attributes, calls in used.values()
        for names, working in classes
    )


@summary
def _used_of_parameters(function: Def) -> dict[str, tuple[set[str], set[str]]]:
    """The attributes of each parameter without an annotation that a function uses, and calls."""
    plain = [arg.arg for arg in signatures.named(function.args) if arg.annotation is None]
    found: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in plain}
    for part in walk(function):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in found:
            found[part.value.id][0].add(part.attr)
        called = part.func if isinstance(part, ast.Call) else None
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id in found
        ):
            found[called.value.id][1].add(called.attr)
    return found


@summary
def _members(node: ast.ClassDef) -> Members:
    methods = functions_in(node)
    names = {*methods, *(name for method in methods.values() for name in _fields(method))}
    working = {name for name, method in methods.items() if text_of(method).holds}
    while more := {
        n for n, method in methods.items() if n not in working and text_of(method).names & working
    }:
        working |= more
    return frozenset(names), frozenset(working - {"__init__"})


def _fields(method: Def) -> Iterator[str]:
    first = method.args.args[0].arg if method.args.args else ""
    for part in walk(method):
        if type(part) is ast.Attribute and type(part.ctx) is ast.Store:
            if type(part.value) is ast.Name and part.value.id == first:
                yield part.attr
