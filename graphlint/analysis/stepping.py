"""Stepping an object: its methods one after another, as a program does round by round, and replays again."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

from graphlint.analysis import (
    budgets,
    calls,
    captures,
    definitions,
    generators,
    given_arguments,
    graph_keys,
    outputs,
    roots,
    setups,
    synthesis,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.identities import identity_of
from graphlint.analysis.own_text import text_of
from graphlint.analysis.parts import tensors_in, tensors_of_record
from graphlint.analysis.roles import Roles, closes, holds, leads_elsewhere, methods_of, roles_of
from graphlint.analysis.values import (
    Change,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Unknown,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile


def step_object(m: Machine, owner: Obj, frame: Frame, node: ast.AST) -> None:
    """Step after step in text order, then what replays once more.

    What captures again is a step of its own: only when it has had its turn is a replay judged. Where the
    first step captures on demand, everything is done once more on what it captured.
    """
    given: dict[str, Arguments] = {}

    def run(names: Sequence[str], same: Set[object] = frozenset()) -> None:
        call_each(m, owner, names, frame, node, given, same=same)

    roles = roles_of(m, owner)
    prepared = m.prepared.get(owner.serial, set())
    again = [name for name in roles.capture if name not in prepared]
    steps = [name for name in _that_matter(m, owner, roles) if name not in prepared]
    if again:
        order = list(methods_of(owner.cls)) if isinstance(owner.cls, ClassInfo) else []
        plain = [name for name in order if name in {*steps, *again} - {*roles.replay}]
        run(roles.replay)
        run([*plain, *roles.replay])
        return
    before = captures.own(m)
    run(steps)
    set_up = m.prepared.get(owner.serial, set())
    if not set_up.isdisjoint({*steps} - {*roles.replay}):
        m.visits.clear()  # what was done often to set the object up is served from now on
    through = [name for name in steps if name in m.replaying.get(owner.serial, ()) and name not in set_up]
    replaying, counted = roles.replay or through, m.counted
    run(replaying)
    _serve_others(m, owner, [name for name in replaying if name in given], given, run)
    if m.counted > counted:  # something is done in some rounds only: see what the round after it finds
        run(replaying)
    run(_readers_of_kept(m, owner, steps))
    if captures.own(m) > before:
        plain = [name for name in steps if name not in {*roles.replay, *set_up}]
        capturing = m.capturing.get(owner.serial, ())
        run([name for name in plain if not setups.comes_before(m, name, capturing)])
        run(roles.replay, same=_keys_of_graphs(m))


def _that_matter(m: Machine, owner: Obj, roles: Roles) -> list[str]:
    """The steps of an object that can tell anything: where all that it captured is declared, hardly any.

    Nothing of it is replayed, so nothing that is done later can spoil a graph, or find one spoilt. What it
    holds may capture by itself, though.
    """
    assert isinstance(owner.cls, ClassInfo)
    if not roles.capture or holds(owner.cls) or owner.serial not in m.capturing:
        return roles.step
    if budgets.holds_instance(owner.fields.values(), partial(_leads_to_capture, m)):
        return roles.step
    return [name for name in roles.step if leads_elsewhere(owner, name, m.goals)]


def _leads_to_capture(m: Machine, info: ClassInfo) -> bool:
    """Whether a class captures, or uses what does, by the text of its file."""
    marked = (cls for cls in info.mro() if m.project.is_marked(cls.module.path))
    return any(cls.scope.partition(".")[0] in _capturing_in(m, cls.module) for cls in marked)


def _capturing_in(m: Machine, module: ModuleFile) -> set[str]:
    known: set[str] | None = m.memo.get(("capturing", id(module)))
    if known is None:
        known = m.memo["capturing", id(module)] = roots.by_text(roots.top_of(module))
    return known


def _serve_others(
    m: Machine, owner: Obj, called: Sequence[str], given: dict[str, Arguments], run: Callable[..., None]
) -> None:
    """Sessions that the program hands out are served in turn: each comes back as it was left.

    `run` calls methods of the object, with arguments of the first call again where it is told which.
    """
    brought = [v for name in called for v in given[name].all() if isinstance(v, Obj)]
    sessions = [(each.fields, dict(each.fields)) for each in brought if _keeps_outputs(m, each)]
    if sessions:
        run(called)
        for fields, left in sessions:
            fields.update(left)
        run(called)
    elif keys := _keys_of_kept(owner):
        run(called, same=keys)


def _keys_of_kept(owner: Obj) -> set[object]:
    """The names by which tables of an object keep outputs of graphs without a copy, as for sessions."""
    tables = [value for value in owner.fields.values() if isinstance(value, Mapping)]
    entries = [entry for table in tables for entry in table.entries() if isinstance(entry[0], Host)]
    held = [(key, t) for key, value in entries for t in tensors_of_record(value, 2)]
    return {identity_of(key) for key, t in held if t.kept is not None and t.storage.graph is not None}


def _keeps_outputs(m: Machine, value: Obj) -> bool:
    """Whether an object like those that the program hands out keeps outputs of a graph without a copy."""
    if value.cls not in m.handed_out:
        return False
    held = (t for v in value.fields.values() if isinstance(v, Value) for t in tensors_in(v))
    return any(tensor.kept is not None and tensor.storage.graph is not None for tensor in held)


def _readers_of_kept(m: Machine, owner: Obj, names: Sequence[str]) -> list[str]:
    """The methods that name a field which holds outputs of earlier replays: they read them after the last."""
    kept = {
        key
        for key, value in owner.fields.items()
        if isinstance(value, (Sequence_, Mapping)) and any(outputs.is_behind(t) for t in tensors_in(value, 2))
    }
    methods = methods_of(owner.cls) if kept and isinstance(owner.cls, ClassInfo) else {}
    return [name for name in names if name in methods and text_of(methods[name][1]).names & kept]


def call_each(
    m: Machine,
    owner: Obj,
    names: Sequence[str],
    frame: Frame,
    node: ast.AST,
    given: dict[str, Arguments],
    *,
    same: Set[object] = frozenset(),
) -> None:
    """Call methods one after another; arguments named in `same` are those of the first call again."""
    depth = len(m.captures)
    for index, name in enumerate(names):
        if not closes(owner, names[index:]):
            captures.abandon(m, depth)
        m.step += 1
        m.timeline.forget()
        result = call(m, owner, name, Change.CHANGING, frame, node, given, same=same)
        for part in alternatives(result):
            if isinstance(part, Function) and part.env is not None:
                calls.call(m, part, given_arguments.of(m, part, Change.CHANGING), node, frame)
    captures.abandon(m, depth)


def call(
    m: Machine,
    owner: Obj,
    name: str,
    change: Change,
    frame: Frame,
    node: ast.AST,
    given: dict[str, Arguments] | None = None,
    *,
    same: Set[object] = frozenset(),
) -> Value:
    """Call a method of an object as the program does that nobody has written.

    `given` holds the arguments of the first call of each method; those named in `same` are given again.
    """
    assert isinstance(owner.cls, ClassInfo)
    found = owner.cls.find(name)
    if found is None:
        return Unknown("method")
    info, method = found
    value = definitions.method_value(m, info, method, owner)
    place = Place(info.module, method, f"{info.scope}.{name}")
    arguments = given_arguments.of(m, value, change)
    for argument in arguments.all() if change is Change.CHANGING else ():
        synthesis.renew(m, argument)
    if given is not None:
        first = given.setdefault(name, arguments)
        given_arguments.repeat(arguments, first, same)
    opened, born = len(m.captures), Obj("call", place).serial
    replays, finished = m.own_replays, len(m.finished)
    result = calls.call(m, value, arguments, method, frame, place)
    _note_done(m, owner, name, m.own_replays > replays, m.finished[finished:])
    if len(m.captures) > opened:
        _close_captures(m, owner, opened, frame, place)
    m.handed_out |= {
        part.cls for part in alternatives(result) if isinstance(part, Obj) and part.serial > born
    }
    drive(m, result)
    return result


def _note_done(m: Machine, owner: Obj, name: str, replayed: bool, captured: Sequence[Capture]) -> None:
    """Remember what a method does; one that captures every time sets the object up."""
    if replayed:
        m.replaying.setdefault(owner.serial, set()).add(name)
    if captured:
        m.capturing.setdefault(owner.serial, set()).add(name)
    if any(not capture.lazy for capture in captured):
        m.prepared.setdefault(owner.serial, set()).add(name)


def drive(m: Machine, result: Value) -> None:
    """Run what a generator that nobody consumes would do for its consumer."""
    if isinstance(result, Obj) and result.cls == "generator" and generators.is_project(result):
        generators.drive(m, result, lambda item: Unknown("sent"))


def _close_captures(m: Machine, owner: Obj, opened: int, frame: Frame, place: Place) -> None:
    """What a method began is ended by its sibling at once: the work between them is done by callers."""
    assert isinstance(owner.cls, ClassInfo)
    for name, (_, node) in methods_of(owner.cls).items():
        names = text_of(node).names
        if "capture_end" in names and "capture_begin" not in names and len(m.captures) > opened:
            call(m, owner, name, Change.CONFIG, frame, node)
    while len(m.captures) > opened:
        captures.end(m, place)


def _keys_of_graphs(m: Machine) -> set[object]:
    return {key for capture in m.finished for key in graph_keys.keys_of(capture)}
