"""Calls that have run before: the same code on the same object is run a few times, not without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    functions,
    outputs,
)
from graphlint.analysis.frames import Place, owner_of
from graphlint.analysis.values import (
    Class,
    Const,
    Env,
    Function,
    Obj,
    Value,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

TOO_DEEP = "functions that eager code calls too deep"

# How many statements a function has at most that only reads.
LONGEST_GETTER = 4


def run(m: Machine, function: Function, env: Env, place: Place) -> Value:
    """Run a function unless this scenario has seen it often enough, or it is too deep."""
    code = _closure_of(function)
    value = owner_of(function, env)
    owner = value.serial if type(value) is Obj else 0
    shape = _shape(env)
    where = id(m.captures[-1].graph) if m.captures else 0  # what a capture makes is not what eager code makes
    key = (code, owner, shape, bool(m.captures), where)
    too_deep = is_too_deep(m, function)
    if too_deep and len(m.frames) > m.MAX_DEPTH:
        _note_too_deep(m, function, place)
    often = m.VISITS + min(m.capturing_visits.get(key, 0), m.VISITS)
    if too_deep or (m.visits.get(key, 0) >= often and not _is_getter(function.node)):
        if not m.captures:
            m.skipped.add(id(function.node))
        known = m.memo.get((where, code, owner, shape)) or m.memo.get((where, code, owner))
        if isinstance(known, Value):
            return outputs.as_of_now(known)
        return functions.declared_result(m, function, place)
    m.visits[key] = m.visits.get(key, 0) + 1
    before = len(m.finished)
    value = functions.run(m, function, env, place)
    if len(m.finished) > before:
        m.capturing_visits[key] = m.capturing_visits.get(key, 0) + 1
    m.memo[(where, code, owner)] = m.memo[(where, code, owner, shape)] = value
    return value


def _note_too_deep(m: Machine, function: Function, place: Place) -> None:
    if m.captures:
        m.unresolved(place, f"calls are followed {m.MAX_DEPTH} deep")
    else:
        m.memo.setdefault(TOO_DEEP, {})[id(function.node)] = function


@summary
def _is_getter(node: ast.AST) -> bool:
    """Whether a function only reads: it costs nothing, and what it reads may have changed since then."""
    if type(node) is ast.Lambda or len(node.body) > LONGEST_GETTER:  # type: ignore[attr-defined]
        return False
    working = (ast.Call, ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
    return not any(isinstance(part, working) for part in walk(node))


def _shape(env: Env) -> tuple[object, ...]:
    """What decides where a call leads: the callables, classes and modes among its arguments."""
    return tuple(map(_kind_of, env.fields.values()))


def _kind_of(value: object) -> object:
    if type(value) is Function:
        return _closure_of(value)
    if type(value) is Obj:
        return value.cls if isinstance(value.cls, str) else id(value.cls)
    if type(value) is Class:
        return id(value.info)
    if type(value) is Const and (value.value is None or isinstance(value.value, (bool, str))):
        return value.value
    return type(value)


def _closure_of(function: Function, depth: int = 3) -> object:
    """What tells closures of one text apart: the functions that they close over, as wrappers do."""
    if function.env is None or not function.env.fields or not depth:
        return id(function.node)
    held = [value for value in function.env.fields.values() if type(value) is Function]
    if not held:
        return id(function.node)
    return id(function.node), tuple([_closure_of(value, depth - 1) for value in held])


def is_too_deep(m: Machine, function: Function) -> bool:
    """Whether a function runs on the same object thrice, on others too often, or calls nest too deeply."""
    calls_ = [f.function for f in m.frames if f.function is not None and f.call is not None]
    running = [other for other in calls_ if other.node is function.node]
    if len(running) > 2:  # wrappers of one decorator around different functions are no recursion
        code = _closure_of(function)
        running = [other for other in running if _closure_of(other) == code]
    on_same = sum(1 for other in running if other.self_value is function.self_value)
    return on_same > 2 or len(running) > m.RECURSION or len(m.frames) > m.MAX_DEPTH
