"""What is known of a call that was cut short: its fields, one at a time and on demand; nothing else.

The object of a method that was cut short keeps the call. When one of the fields that the call writes is asked
for, the slice of the method for that field is run, aside from the program's course. What else the call could
write is not known any more, and neither is what it returned beyond its annotation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import budgets, functions, generators, hints, slicing, statements, synthesis
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import CutShort, Frame, Place, owner_of
from graphlint.analysis.heap import MISSING
from graphlint.analysis.values import NONE, Change, Env, Function, Obj, Unknown, Value, join
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@dataclass(slots=True)
class Deferred:
    """A method that was cut short: its function and parameters, the fields left to find, what they were."""

    function: Function
    env: Env
    place: Place
    fields: set[str]
    before: dict[str, Value] = field(default_factory=dict)


def cut(m: Machine, function: Function, env: Env, place: Place) -> Value:
    """Stand in for a call that was cut short, or for another one of the same function."""
    m.cuts.setdefault((id(function.node), id(function.env)), function)
    owner = owner_of(function, env)
    if isinstance(owner, Obj) and isinstance(owner.cls, ClassInfo):
        defer(m, owner, function, env, place)
    _forget(m, function, env, place)
    if getattr(function.node, "name", "") in budgets.CONSTRUCTORS:
        return NONE
    m.lost = True
    returns = getattr(function.node, "returns", None)
    if returns is None:
        return Unknown("result of a call that was cut short")
    return hints.value_of(m, returns, function.module, Change.CONFIG, place)


def is_in_lost_call(m: Machine) -> bool:
    """Whether the machine is in a call of a function that was cut short in eager code, or not followed again.

    What such a call has filled or warmed up is not known.
    """
    functions = [frame.function for frame in m.frames if frame.function is not None]
    return any(id(f.node) in m.skipped or (id(f.node), id(f.env)) in m.cuts for f in functions)


def defer(m: Machine, owner: Obj, function: Function, env: Env, place: Place) -> None:
    """Keep a call for the fields that it writes; what they hold now is what they held before it."""
    assert isinstance(owner.cls, ClassInfo) and not isinstance(function.node, ast.Lambda)
    written = slicing.fields_written(owner.cls, function.node)
    kept = Deferred(function, env, place, set(written))
    for name in written & owner.fields.keys():
        held = owner.fields[name]
        if isinstance(held, Value):
            kept.before[name] = held
            m.heap.write(owner.fields, name, MISSING)
    m.deferred.setdefault(owner.serial, []).append(kept)


def materialise(m: Machine, owner: Obj, name: str) -> bool:
    """Find a field that calls which were cut short write; True when the field is there then."""
    for kept in m.deferred.get(owner.serial, ()):
        if name not in kept.fields:
            continue
        kept.fields.discard(name)
        with m.before_everything():
            if name in kept.before and name not in owner.fields:
                owner.fields[name] = kept.before[name]
            if not _run_slice(m, owner, kept, name):
                held = owner.fields.get(name)
                lost = Unknown("written by a call that was cut short")
                owner.fields[name] = join(held, lost) if isinstance(held, Value) else lost
            synthesis.assume(m, owner)
    return name in owner.fields


def _run_slice(m: Machine, owner: Obj, kept: Deferred, name: str) -> bool:
    """Run what a field depends on; False when that took too many steps as well."""
    assert isinstance(owner.cls, ClassInfo)
    function = kept.function
    where = function.cls or owner.cls
    assert not isinstance(function.node, ast.Lambda)
    body = slicing.slice_for(function.node, owner.cls, where, name)
    env = Env(kept.env.module, kept.env.parent)
    env.fields.update(kept.env.fields)
    frame = Frame(function.module, env, function.qualname, function, kept.place)
    frame.level, frame.began = m.heap.open(), m.steps
    frame.opened = (len(m.open_exits), len(m.contexts), len(m.streams))
    frame.sliced = True
    m.frames.append(frame)
    try:
        with m.allowance():
            statements.execute(m, body, frame)
            functions.rejoin(m, frame)
            return True
    except CutShort as cut_short:
        if cut_short.frame is not frame:
            raise
    finally:
        m.frames.pop()
    budgets.take_back(m, frame)
    return False


def _forget(m: Machine, function: Function, env: Env, place: Place) -> None:
    """What a call that was cut short could write besides: globals, and fields of what it was given."""
    lost = Unknown("written by a call that was cut short")
    given = {name: value for name, value in env.fields.items() if type(value) is Obj}
    for node in generators.own_nodes(function.node):
        if type(node) is ast.Global:
            cells = m.env_of(function.module).fields
            for name in node.names:
                m.heap.write(cells, name, _joined(cells.get(name), lost))
        elif type(node) is ast.Attribute and type(node.ctx) is ast.Store:
            owner = _held(node.value, given)
            if owner is not None and owner is not function.self_value and node.attr in owner.fields:
                m.heap.write(owner.fields, node.attr, _joined(owner.fields[node.attr], lost))


def _held(node: ast.expr, given: dict[str, Obj]) -> Obj | None:
    """The object that a path from a parameter leads to through fields that are there."""
    if type(node) is ast.Attribute:
        owner = _held(node.value, given)
        held = owner.fields.get(node.attr) if owner is not None else None
        return held if type(held) is Obj else None
    return given.get(node.id) if type(node) is ast.Name else None


def _joined(held: object, lost: Value) -> Value:
    return join(held, lost) if isinstance(held, Value) else lost
