"""Methods that the program calls from constructors only: what they do is done once, and is no step."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from graphlint.analysis.budgets import CONSTRUCTORS
from graphlint.analysis.classes import Def
from graphlint.facts import nodes as ast
from graphlint.facts.looking import may_say
from graphlint.facts.pernode import per_node
from graphlint.facts.questions import question
from graphlint.facts.walking import children

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

# In how many files a method of that name may be called: a common name says nothing about one class.
MOST_FILES = 6
# How far callers are looked for.
DEEPEST = 2


def only_at_start(m: Machine, name: str, depth: int = DEEPEST) -> bool:
    """Whether all calls of methods of that name are made by constructors, or by what only they call."""
    callers = {caller for caller, _ in _callers(m, name)} - {name}
    return bool(callers) and all(
        caller in CONSTRUCTORS or (caller and depth and only_at_start(m, caller, depth - 1))
        for caller in callers
    )


def comes_before(m: Machine, name: str, others: Collection[str]) -> bool:
    """Whether whoever calls a method of that name goes on to call one of the others."""
    found = [later for caller, later in _callers(m, name) if caller != name]
    return bool(found) and all(not set(later).isdisjoint(others) for later in found)


def _callers(m: Machine, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Who calls methods of that name, and what they call later; nothing where that would be too many."""
    paths = m.project.calling_paths(name)
    files = [m.project.file(path) for path in paths] if len(paths) <= MOST_FILES else []
    return [found for file in files if file is not None for found in callers_in(file, name)]


@question
def callers_in(module: ModuleFile, name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The functions of a file that call methods of a name, and the methods that each calls after that.

    The body of the file is called "".
    """
    return tuple(
        (scope, tuple(sorted({later for later, line in called if line > first})))
        for scope, called in _scopes(module.tree, name)
        for first in [min((line for each, line in called if each == name), default=None)]
        if first is not None
    )


def _scopes(tree: ast.AST, name: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """The functions in a tree that may say a name, each with the methods that it calls and the lines."""
    called, inner = _own_calls(tree)
    for function in inner:
        if may_say(function, name):
            yield from _scopes(function, name)
    yield getattr(tree, "name", ""), called


@per_node
def _own_calls(tree: ast.AST) -> tuple[list[tuple[str, int]], list[Def]]:
    """The methods that a function or file calls itself and the lines where it does; the functions in it."""
    called: list[tuple[str, int]] = []
    inner: list[Def] = []
    pending = children(tree)
    while pending:
        part = pending.pop()
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner.append(part)
            continue
        if type(part) is ast.Call and type(part.func) is ast.Attribute:
            called.append((part.func.attr, part.lineno))
        pending += children(part)
    return called, inner
