"""What captured code went through and the program changes later: hooks, gradients wanted, callables.

A replay runs no Python, so it takes no notice. Each change is told of where it is made, once a graph that had
to do with it is replayed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis import conditions, gradients, graph_keys, renewals
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Condition, Place
from graphlint.analysis.graphs import Capture, Read, Write, value_in
from graphlint.analysis.values import NONE, Function, Obj, Partial, Value, alternatives

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

HOOK, REQUIRES_GRAD, CALLABLE = "hook", "requires-grad", "callable"
UNFROZEN = "unfrozen"
BACKWARD_HOOK, GRADIENT_HOOK = "backward-hook", "gradient-hook"
# The facts of a capture that name what a change may be about.
SUBJECTS = {
    HOOK: "modules",
    BACKWARD_HOOK: "modules",
    GRADIENT_HOOK: "trained",
    REQUIRES_GRAD: "trained",
    UNFROZEN: gradients.LEFT_OUT,
}


@dataclass(slots=True)
class Late:
    """A change of `subjects`, which `handle` may take back."""

    kind: str
    place: Place
    subjects: Collection[object]
    clock: int
    under: tuple[Condition, ...]
    handle: Obj | None = None


def note(
    m: Machine, kind: str, place: Place, subjects: Collection[object], handle: Obj | None = None
) -> None:
    """Something changes that a graph may have been captured with."""
    if m.finished and not m.captures:
        m.late.append(Late(kind, place, subjects, m.clock, conditions.undecided(m), handle))


def replayed(m: Machine, record: Capture, place: Place, told: Collection[int]) -> None:
    """A graph is replayed: tell what has changed since; reads in `told` are reported already."""
    for late in m.late:
        if _concerns(m, record, late):
            _tell(m, record, late.kind, late.place, place)
    for read in record.reads.values():
        if id(read) not in told and (write := _other_callable(m, record, read)) is not None:
            _tell(m, record, CALLABLE, write.place, place)


def _concerns(m: Machine, record: Capture, late: Late) -> bool:
    since = max(record.clock, record.renewed.clock if record.renewed is not None else 0)
    if late.clock < since or any(condition in m.resets for condition in late.under):
        return False
    if late.handle is not None and "removed" in late.handle.fields:
        return False
    if late.kind == BACKWARD_HOOK and not record.facts.get("trained"):
        return False  # no backward pass was captured
    had = record.facts.get(SUBJECTS[late.kind], ())
    concerned = [subject for subject in late.subjects if subject in had]
    if late.kind == UNFROZEN:  # and not frozen again
        concerned = [subject for subject in concerned if not gradients.is_frozen(m, subject)]
    return bool(concerned)


def _other_callable(m: Machine, record: Capture, read: Read) -> Write | None:
    """The write that put a callable with other code where captured code found one."""
    then, now = _code_of(read.value), value_in(read.fields, read.key)
    if then is None or now is None or now is read.value:
        return None
    codes = {_code_of(part) for part in alternatives(now)}
    if None in codes or then in codes or _replays(now):
        return None
    cell = (id(read.fields), read.key)
    before = [w.place for w in m.writes.get(cell, ()) if w.clock < record.clock]
    swapping = {(place.module.path, place.function) for place in before}  # puts back what it has replaced
    writes = renewals.writes_since(m, record, cell)
    left = [w for w in writes if (w.place.module.path, w.place.function) not in swapping]
    return left[-1] if left else None


def _code_of(value: Value) -> int | None:
    """What is run when a value of the project is called; None where that is not known."""
    if isinstance(value, Function):
        return id(value.node)
    if isinstance(value, Partial):
        return _code_of(value.function)
    if isinstance(value, Obj) and isinstance(value.cls, ClassInfo):
        found = value.cls.find("__call__") or value.cls.find("forward")
        return id(found[1]) if found is not None else None
    return None


def _replays(value: Value) -> bool:
    """Whether a callable has to do with graphs: what replays is put in the place of what was captured."""
    owners = [part.self_value for part in alternatives(value) if isinstance(part, Function)]
    return any(graph_keys.held_graphs(each) for each in (value, *owners) if each is not None)


def _tell(m: Machine, record: Capture, kind: str, changed: Place, replay: Place) -> None:
    chain = (record.place.hop, changed.hop, replay.hop)
    m.emit(Called(place=changed, what="late-change", target=NONE, data=kind, chain=chain, capture=record))
