"""Communicators: graphs that hold their collectives, and what is still alive when they are destroyed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Function, Mapping, Obj, Sequence_, Union, Value, is_none

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

FACT = "collective"
MOST = 5_000  # values looked at


def note_collective(m: Machine, place: Place) -> None:
    """Something of `torch.distributed` is called: the graph that is being captured holds communicators."""
    if m.captures:
        m.captures[-1].facts.setdefault(FACT, place)


@model("torch.distributed.init_process_group")
def _make(call: Call) -> Value:
    """With `device_id` the communicator is made at once, else by the first collective."""
    waits = is_none(call.arguments.kwargs.get("device_id")) and call.arguments.more_kwargs is None
    call.m.emit(Called(place=call.place, what="group-made", target=NONE, data=waits))
    return NONE


@model("torch.distributed.destroy_process_group")
def _destroy(call: Call) -> Value:
    """The communicators go, although graphs that hold them can still be reached from what runs."""
    m = call.m
    holding = [c for c in m.finished if FACT in c.facts and c.graph is not None]
    living = [c for c in holding if c.graph is not None and c.graph.fields.get("record") is c]
    named = _reachable(m) if living else set()
    for capture in living:
        if id(capture.graph) in named:
            m.emit(Called(place=call.place, what="group-destroyed", target=NONE, data=capture))
    return NONE


def _reachable(m: Machine) -> set[int]:
    """The identities of every object that names of the running functions and of modules lead to."""
    pending = [value for frame in m.frames for value in frame.env.fields.values()]
    pending += [value for env in m.module_envs.values() for value in env.fields.values()]
    met: set[int] = set()
    while pending and len(met) < MOST:
        value = pending.pop()
        if isinstance(value, Value) and id(value) not in met:
            met.add(id(value))
            pending.extend(_parts(value))
    return met


def _parts(value: Value) -> Iterable[object]:
    if isinstance(value, Obj):
        return value.fields.values()
    if isinstance(value, Union):
        return value.values
    if isinstance(value, Sequence_):
        return value.elements()
    if isinstance(value, Mapping):
        return [part for _, part in value.entries()]
    if isinstance(value, Function):
        held = [value.self_value] if value.self_value is not None else []
        return [*held, *(value.env.fields.values() if value.env is not None else ())]
    return ()
