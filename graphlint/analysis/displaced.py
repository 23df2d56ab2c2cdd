"""Objects that captured code went through and that the program has replaced since.

A graph that was captured with the number `self.params.scale` keeps it when `self.params` names another
object: the fields of the new one are compared with what the graph has recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphlint.analysis import graph_keys, pinned_numbers, synthesis, tensor_ops
from graphlint.analysis.graphs import Capture, HostUse, Read, Write, is_other_number, value_in
from graphlint.analysis.values import Cell, Change, Const, Host, Mapping, Obj, Value, alternatives

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

DEPTH = 4


@dataclass(frozen=True, slots=True)
class Displaced:
    """`then` was named where `now` is named at the replay, because of `writes`."""

    then: Value
    now: Value
    writes: list[Write]


def number(m: Machine, record: Capture, use: HostUse) -> Write | None:
    """The write that gave the graph's place for a host number an object with another number."""
    reads = [record.host_reads[cell] for cell in use.cells if cell in record.host_reads]
    if not any(isinstance(read.owner, (Obj, Mapping)) for read in reads):
        return None
    for each in _displaced(m, record):
        for read in reads:
            now = _part(each.now, read.key) if read.owner is each.then else None
            if now is None or pinned_numbers.stands(m, read.value, now):
                continue
            if _is_other(m, record, read, now):
                return each.writes[-1]
    return None


def names_each_turn(m: Machine, record: Capture, cell: Cell) -> bool:
    """Whether a local name is bound anew between captures of one region, as in a loop that captures.

    What it names is recorded into the graph of its own turn, and which graph a replay takes is chosen then.
    """
    turns = [capture.clock for capture in m.finished if capture.place.key == record.place.key]
    return len(turns) > 1 and any(
        write.local and min(turns) <= write.clock < max(turns) for write in m.writes.get(cell, ())
    )


def _is_other(m: Machine, record: Capture, read: Read, now: Value) -> bool:
    """Whether a number certainly changed, or changes with the calls and does not choose the graph.

    The size of what a call brings changes where eager code fills a part of larger memory with it.
    """
    if isinstance(now, Const):
        return now.value is not None and is_other_number(read.value, now)
    if not isinstance(now, Host):
        return False
    if now.change is not Change.CHANGING and not (now.change is Change.SHAPE and now.symbol in m.partial):
        return False
    keys = graph_keys.keys_of(record)
    return not tensor_ops.is_key(keys, now)


def _displaced(m: Machine, record: Capture) -> Iterator[Displaced]:
    """Every object that captured code read from a cell that now names another one, and their parts."""
    for holder in _holders(record):
        now = value_in(holder.fields, holder.key)
        writes = [
            w
            for w in m.writes.get((id(holder.fields), holder.key), ())
            if w.clock >= record.clock and not w.capturing
        ]
        cell = (id(holder.fields), holder.key)
        if now is not None and writes and not names_each_turn(m, record, cell):
            yield from _with_parts(m, record, holder.value, now, writes, DEPTH)


def _with_parts(
    m: Machine, record: Capture, then: Value, now: Value, writes: list[Write], depth: int
) -> Iterator[Displaced]:
    for part in alternatives(now):
        if part is then or type(part) is not type(then) or not depth:
            continue
        if isinstance(part, Obj) and "?pending" in part.fields:
            synthesis.initialise(m, part)
        yield Displaced(then, part, writes)
        for inner in [h for h in _holders(record) if h.owner is then]:
            held = _part(part, inner.key)
            if held is not None:
                yield from _with_parts(m, record, inner.value, held, writes, depth - 1)


def _holders(record: Capture) -> list[Read]:
    return [read for read in record.reads.values() if isinstance(read.value, (Obj, Mapping))]


def _part(owner: Value, key: Any) -> Value | None:
    return value_in(owner.fields, key) if isinstance(owner, (Obj, Mapping)) else None
