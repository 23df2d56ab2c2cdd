"""Globals that start as None and that a function of their module sets: ambient contexts, current engines.

The root's own life may never come to the function that sets them, while captured code needs them. Such a
global is None or what it is declared, or assigned, to be. One that is filled where it is found empty stays
None: the code that finds it so is part of the program's own life.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import expressions, generators, hints, signatures
from graphlint.analysis.classes import Def
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.values import NONE, Change, Class, Env, Obj, Value, alternatives, is_none, join_all
from graphlint.facts import nodes as ast
from graphlint.facts.looking import may_say
from graphlint.facts.pernode import per_node
from graphlint.facts.questions import question

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile


def value_of(m: Machine, module: ModuleFile, name: str) -> Value:
    """What a global that is None at import is later: None, or instances of what its setters are given."""
    found: list[Value] = [NONE]
    for function, given in _setters(module, name):
        annotation = _annotation(module, name) or _of_parameter(function, given)
        place = Place(module, given, function.name)
        value = (
            hints.value_of(m, annotation, module, Change.CONFIG, place)
            if annotation is not None
            else _made(m, module, given, place)
        )
        found += [part for part in alternatives(value) if _is_followed(part)]
    return join_all(found)


def _is_followed(value: Value) -> bool:
    return type(value) is Obj and not isinstance(value.cls, str) and not is_none(value)


def _annotation(module: ModuleFile, name: str) -> ast.expr | None:
    nodes = (binding.node for binding in module.bindings.get(name, ()))
    return next((node.annotation for node in nodes if type(node) is ast.AnnAssign), None)


def _of_parameter(function: Def, given: ast.expr) -> ast.expr | None:
    """The annotation of the parameter that a setter stores."""
    if type(given) is not ast.Name:
        return None
    return next((each.annotation for each in signatures.named(function.args) if each.arg == given.id), None)


def _made(m: Machine, module: ModuleFile, given: ast.expr, place: Place) -> Value:
    """An instance of the class that a setter calls."""
    if type(given) is not ast.Call or not isinstance(given.func, (ast.Name, ast.Attribute)):
        return NONE
    frame = Frame(module, Env(module, None), "<module>")
    m.frames.append(frame)
    try:
        made = expressions.evaluate(m, given.func, frame)
    finally:
        m.frames.pop()
    return hints.of_type(m, made, Change.CONFIG, place) if type(made) is Class else NONE


def _setters(module: ModuleFile, name: str) -> Sequence[tuple[Def, ast.expr]]:
    """The functions that assign a global without asking whether it is there, with what they assign."""
    if not set_by(module, name):
        return ()
    with module.looks.aside():
        found = _all_setters(module.tree)[name]
    for function, _ in found:
        module.look_into(function.name)
    return found


@question
def set_by(module: ModuleFile, name: str) -> tuple[str, ...]:
    """The functions that assign a global without asking whether it is there."""
    return tuple(function.name for function, _ in _all_setters(module.tree).get(name, ()))


@per_node
def _all_setters(tree: ast.Module) -> dict[str, list[tuple[Def, ast.expr]]]:
    found: dict[str, list[tuple[Def, ast.expr]]] = {}
    for function in tree.body:
        if isinstance(function, Def) and may_say(function, "global"):
            for name, value in _assigned_globals(function):
                found.setdefault(name, []).append((function, value))
    return found


def _assigned_globals(function: Def) -> Iterator[tuple[str, ast.expr]]:
    own = generators.own_nodes(function)
    declared = {name for node in own if type(node) is ast.Global for name in node.names}
    if not declared:
        return
    tested = {
        part.id
        for node in own
        if isinstance(node, (ast.If, ast.IfExp, ast.While))
        for part in ast.walk(node.test)
        if type(part) is ast.Name
    }
    for node in own:
        if type(node) is ast.Assign:
            for target in node.targets:
                if type(target) is ast.Name and target.id in declared - tested:
                    yield target.id, node.value
