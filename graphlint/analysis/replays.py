"""Replaying a capture: what it reads is compared with what the program means by now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import (
    carried,
    derived,
    first_calls,
    freed_weights,
    frozen_uses,
    graph_keys,
    handed,
    host_work,
    ignored,
    late_changes,
    lost_inputs,
    orphans,
    renamed,
    renewals,
    settled,
    synthesis,
    timeline,
)
from graphlint.analysis.events import (
    Replay,
    ReplayInCapture,
)
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import (
    Capture,
    Changed,
    Read,
    Write,
    holds_other_memory,
    memories_of,
    names_other_memory,
    share_memory,
    value_in,
)
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    Mapping,
    Obj,
    Value,
    alternatives,
    is_none,
    join_all,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def replay_on(m: Machine, graph: Obj, place: Place, stream: Obj | None) -> None:
    """Replay a graph on a stream; on the current one when none is given."""
    if stream is not None:
        m.streams.append(stream)
    replay(m, graph, place)
    if stream is not None:
        m.streams.pop()


def replay(m: Machine, graph: Obj, place: Place, among: Sequence[Obj] = ()) -> None:
    """Replay a graph: its outputs get a new generation, what it read is compared with what is named now.

    `among` are the graphs that the replayed name may stand for, where several may.
    """
    if m.captures:
        m.emit(ReplayInCapture(place=place, graph=graph))
        return
    m.replays += 1
    m.own_replays += not m.running
    m.budget.captured = m.steps
    handed.replayed(m, graph, place)
    m.heap.write(graph.fields, "stamp", graph.fields.get("stamp", 0) + 1)
    calls = [frame.call for frame in reversed(m.frames) if frame.call is not None]
    m.heap.write(graph.fields, "replayed", (place, *calls))
    m.heap.write(graph.fields, "replayed at", m.steps)
    record = graph.fields.get("record")
    if not isinstance(record, Capture):
        return
    record.replayed.add(place.hop)
    record.renewed = renewals.renewal(record, among)
    compared = (_compare(m, record, read) for read in record.reads.values())
    found = (*(each for each in compared if each is not None), *renamed.changed(m, record))
    changed = (*found, *lost_inputs.changed(m, record, found))
    event = Replay(place=place, graph=graph, recorded=record, changed=changed, capture=record, step=m.step)
    event.replaced, event.settled = tuple(renewals.replaced_since(m, record)), settled.here(m)
    m.emit(event)
    timeline.replayed(m, record, place)
    freed_weights.replayed(m, record, place)
    frozen_uses.tell(m, record, place)
    carried.replayed(m, record, place)
    derived.replayed(m, record, place)
    host_work.replayed(m, record)
    first_calls.replayed(m, record)
    ignored.replayed(m, record, place)
    late_changes.replayed(m, record, place, {id(each.read) for each in changed})
    _overwrite_pool(m, record, place)


def _overwrite_pool(m: Machine, record: Capture, place: Place) -> None:
    """The temporaries of a graph lie where graphs captured later into its pool have put their outputs."""
    for other in m.finished:
        if other.graph is None or other.graph is record.graph or other.clock <= record.clock:
            continue
        if share_memory(record, other) and other.graph.fields.get("record") is other:
            mark = (other.graph.fields.get("stamp", 0), m.step, place)
            m.heap.write(other.graph.fields, "overwritten", mark)


def _compare(m: Machine, record: Capture, read: Read) -> Changed | None:
    if read.key == Mapping.ANY and (changed := _all_replaced(m, record, read)) is not None:
        return changed
    found = _compare_cell(m, record, read) or _overwritten(m, record, read)
    return found or orphans.changed(m, record, read)


def _all_replaced(m: Machine, record: Capture, read: Read) -> Changed | None:
    """A read by an unknown key: nothing that it may have found is still in the mapping."""
    assert isinstance(read.owner, Mapping)
    now = join_all(value for _, value in read.owner.entries())
    _, certainly = names_other_memory(read.value, now)
    writes = [w for key in read.fields for w in renewals.writes_since(m, record, (id(read.fields), key))]
    return Changed(read, now, writes, False) if certainly and writes else None


def _overwritten(m: Machine, record: Capture, read: Read) -> Changed | None:
    """A store by an unknown key may have replaced what captured code found in a mapping."""
    if not isinstance(read.owner, Mapping):
        return None
    for write in renewals.writes_since(m, record, (id(read.fields), Mapping.ANY)):
        if names_other_memory(read.value, write.value)[0]:
            return Changed(read, write.value, [write], False)
    return None


def _compare_cell(m: Machine, record: Capture, read: Read) -> Changed | None:
    now = value_in(read.fields, read.key)
    if now is None or now is read.value:
        return None
    synthesis.fill_records(m, now)
    possibly, certainly = holds_other_memory(record, read.value, now)
    if not possibly:
        return None
    is_open = read.owner is None or not certainly or _is_refilled(m, record, read.value)
    if is_open and (record.facts.get("stated") or _serves_another(m, record, read, now)):
        return None  # of a life that a profile states, what its settings leave open is not claimed
    writes = _refills_left_out(renewals.writes_since(m, record, (id(read.fields), read.key)))
    writes = _replaced_at_once_left_out(writes)
    return Changed(read, now, writes, certainly) if writes else None


def _refills_left_out(writes: list[Write]) -> list[Write]:
    """Writes that fill the cell only where it is empty do not happen, unless something emptied it."""
    emptied = any(is_none(part) for w in writes for part in alternatives(w.value))
    return writes if emptied else [w for w in writes if not w.filling]


def _replaced_at_once_left_out(writes: list[Write]) -> list[Write]:
    """A None that the same function goes on to replace is not what the replay finds."""
    return [
        write
        for at, write in enumerate(writes)
        if not (is_none(write.value) and any(_is_by_same(write, later) for later in writes[at + 1 :]))
    ]


def _is_by_same(one: Write, other: Write) -> bool:
    return one.place.function == other.place.function and not is_none(other.value)


def _serves_another(m: Machine, record: Capture, read: Read, now: Value) -> bool:
    """Whether the name was bound anew for another capture, which reads what it names now.

    In a loop that captures, a name belongs to the graph of its iteration, and one that a table gives back
    with a graph to the call that made the entry. A field that may name other memory has been given it
    together with a capture that may have taken this one's place, or still names what an earlier one reads,
    where this one never happened.
    """
    moved = _memories(now) - _memories(read.value)
    taken = {
        memory
        for other in m.finished
        if other is not record
        for same in _reads_of_that_name(other, record, read)
        for memory in _memories(same.value)
    }
    return bool(moved) and moved <= taken


def _reads_of_that_name(other: Capture, record: Capture, read: Read) -> list[Read]:
    """What another capture read from the same cell, or in another call of a function from its local name."""
    same = other.reads.get((id(read.fields), read.key))
    if same is not None:
        later = other.clock > record.clock or graph_keys.keys_of(other) != graph_keys.keys_of(record)
        return [same] if later else []
    if read.owner is not None or other.place.key != record.place.key:
        return []
    return [each for each in other.reads.values() if _is_same_name(each, read)]


def _is_same_name(one: Read, other: Read) -> bool:
    """Whether both are reads of a local name in calls of the same function."""
    return one.owner is None and (one.key, one.place.function) == (other.key, other.place.function)


def _is_refilled(m: Machine, record: Capture, value: Value) -> bool:
    """Whether the program still writes the memory of an input, which it must have by another name."""
    return all(carried.is_refilled(m, record, each.storage) for each in tensors_in(value, 0))


def _memories(value: Value) -> set[object]:
    """What tells the memory apart that a value leads to: storages, and objects that hold some."""
    held: set[object] = {t.storage for t in tensors_in(value)} | memories_of(value)
    return held | {part for part in alternatives(value) if isinstance(part, Obj)}
