"""Cells: what is written under a name, field or key, and what captured code reads there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    carried,
    conditions,
    effects,
    once,
    orphans,
    renamed,
    settled,
    swaps,
    walked,
)
from graphlint.analysis.events import Displaced
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Read, Write
from graphlint.analysis.parts import tensors_in, with_cell
from graphlint.analysis.values import (
    MOVED,
    TAKEN,
    Const,
    Env,
    Fields,
    Function,
    Host,
    Mapping,
    Obj,
    Partial,
    Sequence_,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

MOST_WRITES = 24  # of one cell are remembered
# Library objects whose tensors captured code reads through them.
HOLDERS = ("torch.nn.", "torch.optim.")


def write(
    m: Machine,
    fields: Fields,
    key: Any,
    value: Value,
    place: Place | None,
    *,
    augmented: bool = False,
    local: bool = False,
) -> None:
    """Write a cell and remember where, so that a replay can blame the write."""
    if m.captures and place is not None:
        m.captures[-1].before.setdefault((id(fields), key), fields.get(key))
    before = fields.get(key)
    old = before if m.finished and not local else None
    once.note_reset(m, before, value)
    m.heap.write(fields, key, value)
    if old is not None and place is not None:
        orphans.note_replaced(m, fields, key, old, value, place)
    if place is not None:
        fills = isinstance(before, Value) and is_none(before)
        log_write(m, fields, key, value, place, augmented=augmented, local=local, fills=fills)


def log_write(
    m: Machine,
    fields: Fields,
    key: Any,
    value: Value,
    place: Place,
    *,
    augmented: bool = False,
    local: bool = False,
    fills: bool = False,
) -> None:
    """Note a write that has happened, for a replay to blame; what `fills` a cell has found None there."""
    cell = (id(fields), key)
    renamed.note_named(m, fields, key, value)
    history = m.writes.get(cell)
    if history is not None and len(history) >= MOST_WRITES and not m.captures:
        return
    under = conditions.undecided(m)
    conditional = bool(under) and m.frames[-1].in_doubt
    record = Write(place, m.chain(place), m.clock, bool(m.captures), value, augmented, conditional, local)
    record.filling = (fills and not local) or (conditional and _is_filling(m, fields, key, place, local))
    record.step, record.under, record.passed = m.step, under, settled.passed(m)
    filled = m.filled.get(cell) or m.effects.get(cell)
    if filled is not None and filled.graph is not None:
        record.stamp = filled.graph.fields.get("stamp", 0)
    if history is None:
        m.kept_alive.append(fields)
        m.writes[cell] = [record]
    elif len(history) < MOST_WRITES:
        history.append(record)
    if m.captures:
        record.times = swaps.times(m)
        carried.note_write(m, fields, key, record)
        m.captures[-1].written[cell] = record
        m.captures[-1].first.setdefault(cell, record)


def _is_filling(m: Machine, fields: Fields, key: Any, place: Place, local: bool) -> bool:
    """Whether a test on the way to a write has found the cell, or the item, empty."""
    finds_empty = not local and conditions.finds_empty(m, fields, key)
    return finds_empty or conditions.fills_tested_item(m, place.node)


def displaced(m: Machine, fields: Fields, key: Any, value: Value, place: Place, name: str) -> None:
    """Tell when eager code reads, after a replay, a cell that the graph was expected to have filled."""
    capture = m.filled.get((id(fields), key))
    if capture is None or capture.graph is None or not capture.graph.fields.get("stamp", 0):
        return
    own = capture.written[(id(fields), key)]
    graph = capture.graph
    held = list(tensors_in(value, 1))
    if any(t.storage.graph is graph for t in held) or not (held or is_none(value)):
        return
    writes = [w for w in m.writes.get((id(fields), key), ()) if w.clock >= capture.clock]
    last = writes[-1] if writes else None
    if last is not None and not last.capturing and last.place.key != own.place.key:
        if last.stamp < graph.fields["stamp"]:
            event = Displaced(place=place, name=name, captured=own.place, written=last.place)
            event.cleared = is_none(value)
            m.emit(event)


def note_read(
    m: Machine, fields: Fields, key: Any, value: Value, place: Place, owner: Value | None, name: str
) -> None:
    """Remember that captured code reads a cell that holds tensors, or an object that may."""
    capture = m.captures[-1] if m.captures else None
    if capture is None or m.meta_read or capture.compiled:
        return
    cell = (id(fields), key)
    if cell in capture.reads or cell in capture.written:
        return
    held = tuple(tensors_in(value, 1))
    called = isinstance(value, (Function, Partial)) and type(owner) is Obj
    if called or _may_hold(value) or any(tensor.on_device or tensor.device == "pinned" for tensor in held):
        m.kept_alive.append(fields)
        capture.reads[cell] = Read(fields, key, value, place, m.chain(place), owner, name)
    elif held and cell not in capture.host_memory:
        m.kept_alive.append(fields)
        capture.host_memory[cell] = Read(fields, key, value, place, (), owner, name)


def tainted(
    m: Machine, fields: Fields, key: Any, value: Value, place: Place, owner: Value | Env | None, name: str
) -> Value:
    """A host value that captured code reads from a cell remembers the cell."""
    capture = m.captures[-1] if m.captures else None
    if capture is not None and type(value) is Mapping and type(owner) is Obj:
        walked.note_named(m, fields, key, value, place, owner)
    if capture is None or capture.compiled or not _is_host(value):
        return value
    cell = (id(fields), key)
    if type(value) is Sequence_ and not effects.taint_elements(m, value, cell):
        return value
    if cell not in capture.host_reads:
        m.kept_alive.append(fields)
        capture.host_reads[cell] = Read(fields, key, value, place, m.chain(place), owner, name)
    return with_cell(value, cell)


def _is_host(value: Value) -> bool:
    """Whether a value is a number, text or list, whichever of its alternatives it is."""
    if type(value) is Union:
        return all(isinstance(part, (Const, Host)) for part in value.values)
    return isinstance(value, (Const, Host, Sequence_))


def _may_hold(value: Value) -> bool:
    """Whether a value is an object or a dict, whose tensors captured code may read through it.

    What was moved to a device is one as well: it may be a tensor.
    """
    return any(
        type(part) is Mapping
        or any(map(_was_moved, part.elements() if type(part) is Sequence_ else (part,)))
        or (type(part) is Obj and (not isinstance(part.cls, str) or part.cls.startswith(HOLDERS)))
        for part in alternatives(value)
    )


def _was_moved(value: Value) -> bool:
    return type(value) is Unknown and value.typed in (MOVED, TAKEN)
