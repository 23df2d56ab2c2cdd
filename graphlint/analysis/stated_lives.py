"""Objects of a framework used as its profile states: prepared, captured, prepared anew, replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import calls, definitions, given_arguments, lives, replays
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.own_text import is_declared
from graphlint.analysis.roles import methods_of
from graphlint.analysis.values import Change, Const, Function, Obj

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.profiles import Life


def run(m: Machine, info: ClassInfo, life: Life, frame: Frame) -> None:
    """What is captured is replayed after the method that programs call in between, with the same settings."""
    arguments = given_arguments.of_constructor(m, info)
    for name in life.filled:
        value = given_arguments.filled(m, info, name)
        if value is not None:
            arguments.kwargs[name] = value
    arguments.kwargs.update({name: Const(constant) for name, constant in life.given})
    owner = lives.constructed(m, info, arguments, info.node)
    captured = [name for name, (_, node) in methods_of(info).items() if is_declared(node)]
    if owner is None or not captured or life.between not in methods_of(info):
        return
    since, given = len(m.finished), {name: _given(m, owner, name) for name in [life.between, *captured]}
    for name in [life.between, *captured, life.between]:
        _call(m, owner, name, given[name], frame)
    m.step += 1
    for record in m.finished[since:]:
        record.facts["stated"] = True
        if record.graph is not None:
            replays.replay(m, record.graph, record.place)


def _given(m: Machine, owner: Obj, name: str) -> Arguments:
    """The arguments of every call of a method: buffers of the caller, and settings that do not change."""
    return given_arguments.of(m, _method(m, owner, name), Change.CONFIG)


def _call(m: Machine, owner: Obj, name: str, arguments: Arguments, frame: Frame) -> None:
    method = _method(m, owner, name)
    calls.call(m, method, arguments, method.node, frame, Place.of(method))


def _method(m: Machine, owner: Obj, name: str) -> Function:
    assert isinstance(owner.cls, ClassInfo)
    where, node = methods_of(owner.cls)[name]
    method = definitions.method_value(m, where, node, owner)
    assert isinstance(method, Function)
    return method
