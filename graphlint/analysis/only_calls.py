"""What the only calls in sight pass in place of defaults: `Decoder(cell, check=False)`.

Where nothing else in the project calls a definition, a default that they override does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graphlint.analysis import signatures
from graphlint.analysis.classes import Def
from graphlint.analysis.values import Const, Value, join_all
from graphlint.facts import nodes as ast
from graphlint.facts.questions import question
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

Passed = tuple[tuple[str, bool, Any], ...]
"""The keywords of one call: name, whether a constant is passed, and which one."""


def keywords(m: Machine, module: ModuleFile, name: str, function: Def) -> dict[str, Value]:
    """The constants by keyword that override defaults in all calls of `name`.

    Nothing where another file than the one that defines it calls it, too. `function` is what such a call
    runs: the definition itself, or the constructor of the class.
    """
    if m.project.calling_paths(name) != [module.path]:
        return {}
    calls = [{word: (known, value) for word, known, value in call} for call in calls_of(module, name)]
    found: dict[str, Value] = {}
    for parameter, default in _constant_defaults(function):
        passed = [call.get(parameter, (True, default)) for call in calls if "**" not in call]
        if len(passed) == len(calls) and all(known for known, _ in passed):
            values = join_all(Const(value) for _, value in passed)
            found |= {parameter: values} if any(value is not default for _, value in passed) else {}
    return found


@question
def calls_of(module: ModuleFile, name: str) -> tuple[Passed, ...]:
    """What each call of a name in a file passes by keyword."""
    return tuple(
        tuple(_passed(word) for word in call.keywords)
        for call in walk(module.tree, name)
        if type(call) is ast.Call and type(call.func) is ast.Name and call.func.id == name
    )


def _passed(word: ast.keyword) -> tuple[str, bool, Any]:
    known = type(word.value) is ast.Constant
    return word.arg or "**", known, word.value.value if type(word.value) is ast.Constant else None


def _constant_defaults(function: Def) -> Iterator[tuple[str, Any]]:
    defaults = signatures.defaults(function.args)
    return ((name, default.value) for name, default in defaults if type(default) is ast.Constant)
