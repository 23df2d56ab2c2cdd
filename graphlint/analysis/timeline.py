"""Which work comes before which, between replays: on the streams, and as far as the host has waited.

Every stream counts what is issued to it, and remembers how far into each other stream it has waited. What the
program does not show is taken to be ordered: streams that arrive as arguments, and everything before a call
that could not be followed. It begins when the first capture has ended: a capture waits for the device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis.events import Race
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import share_memory
from graphlint.analysis.values import Host, Obj, Storage, Tensor, Value

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine

Knowledge = dict[int, int]
"""How far into each stream something has waited, by the serial of the stream."""

# Effects of the operation tables that wait for the current stream.
WAITING = frozenset(
    {
        "scalar-read",
        "bulk-read",
        "format",
        "dynamic-shape",
        "size-read",
        "host-compare",
        "host-data",
        "host-check",
        "collective-host",
        "sync",
    }
)


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work: its stream, its number there, and where it was issued."""

    stream: Obj
    number: int
    place: Place


@dataclass(slots=True)
class Timeline:
    """What has been issued and waited for since the first capture ended."""

    issued: Knowledge = field(default_factory=dict)
    seen: dict[int, Knowledge] = field(default_factory=dict)
    host: Knowledge = field(default_factory=dict)
    writes: dict[Storage, Work] = field(default_factory=dict)
    readers: dict[int, list[Work]] = field(default_factory=dict)
    replays: dict[int, Work] = field(default_factory=dict)
    filling: dict[Storage, Work] = field(default_factory=dict)  # host memory, by what writes it
    draining: dict[Storage, Work] = field(default_factory=dict)  # host memory, by what reads it
    results: dict[Storage, Work] = field(default_factory=dict)  # what replays write in place
    takers: dict[Storage, list[Work]] = field(default_factory=dict)  # and what reads it

    def issue(self, stream: Obj, place: Place) -> Work:
        """Count a piece of work on a stream: it comes after everything that the host has waited for."""
        _learn(self.seen.setdefault(stream.serial, {}), self.host)
        self.issued[stream.serial] = self.issued.get(stream.serial, 0) + 1
        return Work(stream, self.issued[stream.serial], place)

    def known_to(self, stream: Obj) -> Knowledge:
        """Everything that comes before what a stream is given next."""
        return {**self.seen.get(stream.serial, {}), stream.serial: self.issued.get(stream.serial, 0)}

    def wait(self, later: Obj, knowledge: Knowledge) -> None:
        """What is issued to a stream from here on comes after what is known."""
        _learn(self.seen.setdefault(later.serial, {}), knowledge)

    def host_waits(self, knowledge: Knowledge) -> None:
        """The host has waited: whatever is issued from here on comes after what is known."""
        _learn(self.host, knowledge)

    def forget(self) -> None:
        """Something happened that may have waited for everything."""
        self.host_waits(self.issued)

    def orders(self, work: Work, later: Obj) -> bool:
        """Whether a piece of work certainly, or for all we know, comes before what `later` is given next."""
        earlier = work.stream
        if earlier is later or not (_is_known(earlier) and _is_known(later)) or _implicitly(earlier, later):
            return True
        return self.known_to(later).get(earlier.serial, 0) >= work.number or self.is_done(work)

    def is_done(self, work: Work) -> bool:
        """Whether the host has waited for a piece of work."""
        return self.host.get(work.stream.serial, 0) >= work.number


def _learn(known: Knowledge, more: Knowledge) -> None:
    for stream, number in more.items():
        known[stream] = max(number, known.get(stream, 0))


def _is_known(stream: Obj) -> bool:
    return stream.label in ("own", "default")


def _implicitly(one: Obj, other: Obj) -> bool:
    """The legacy default stream waits for streams that are not made non-blocking, and they for it."""
    return any(
        first.label == "default" and bool(second.fields.get("blocking"))
        for first, second in ((one, other), (other, one))
    )


def _current(m: Machine) -> Obj:
    return m.streams[-1] if m.streams else m.default_stream


def _is_watching(m: Machine) -> bool:
    return bool(m.finished) and not m.captures and not m.is_compiling


# what the machine tells


def used(m: Machine, tensors: Iterable[Tensor], place: Place) -> None:
    """An eager operation reads tensors on the current stream."""
    if not _is_watching(m):
        return
    line, stream = m.timeline, _current(m)
    for tensor in tensors:
        graph = tensor.storage.graph
        written = line.results.get(tensor.storage)
        if written is not None and not tensor.library:
            if not line.orders(written, stream):
                m.emit(Race(place=place, kind="output", earlier=written.place, stream=stream))
            line.takers.setdefault(tensor.storage, []).append(line.issue(stream, place))
        replay = line.replays.get(graph.serial) if graph is not None else None
        if graph is None or replay is None:
            continue
        if not line.orders(replay, stream):
            m.emit(Race(place=place, kind="output", earlier=replay.place, stream=stream))
        line.readers.setdefault(graph.serial, []).append(line.issue(stream, place))


def wrote(m: Machine, owner: Tensor, source: Value | None, place: Place, *, waits: bool) -> None:
    """Eager code writes a tensor in place; `waits` tells that the host waits for a copy between memories."""
    if not _is_watching(m):
        return
    line, stream = m.timeline, _current(m)
    from_device = isinstance(source, Tensor) and source.on_device
    if owner.device == "pinned" and not from_device:
        _host_wrote(m, owner, place)
        return
    work = line.issue(stream, place)
    line.writes[owner.storage] = work
    crosses = isinstance(source, Tensor) and from_device is not owner.on_device
    if crosses and waits:
        line.host_waits(line.known_to(stream))
    elif crosses and isinstance(source, Tensor):
        _note_copy(line, owner, source, work)


def _note_copy(line: Timeline, owner: Tensor, source: Tensor, work: Work) -> None:
    """A copy that the host does not wait for is under way."""
    if owner.device == "pinned" and source.storage.graph is not None:
        line.filling[owner.storage] = work
    elif source.device == "pinned" and not picked(source):
        line.draining[source.storage] = work


def _host_wrote(m: Machine, owner: Tensor, place: Place) -> None:
    work = m.timeline.draining.get(owner.storage)
    if work is not None and not m.timeline.is_done(work) and not picked(owner) and len(m.callees) < 2:
        m.emit(Race(place=place, kind="host-write", earlier=work.place, stream=work.stream))


def moved(m: Machine, source: Tensor, made: Value, place: Place) -> None:
    """A copy of an output to host memory is begun, and the host does not wait for it."""
    if (
        _is_watching(m)
        and isinstance(made, Tensor)
        and made.device == "cpu"
        and source.storage.graph is not None
    ):
        m.timeline.filling[made.storage] = m.timeline.issue(_current(m), place)


def host_reads(m: Machine, tensors: Iterable[Tensor], place: Place) -> None:
    """Python, or an operation on the host, reads the values of tensors."""
    if not _is_watching(m):
        return
    for tensor in tensors:
        work = m.timeline.filling.get(tensor.storage) if not tensor.on_device else None
        if work is not None and not m.timeline.is_done(work):
            m.emit(Race(place=place, kind="host-read", earlier=work.place, stream=work.stream))


def replayed(m: Machine, record: Capture, place: Place) -> None:
    """A graph is replayed on the current stream."""
    if record.graph is None or record.compiled or not _is_watching(m):
        return
    line, stream, graph = m.timeline, _current(m), record.graph.serial
    for storage in record.storages:
        written = line.writes.get(storage)
        if written is not None and not line.orders(written, stream):
            m.emit(Race(place=written.place, kind="input", earlier=place, stream=stream))
    in_place = record.facts.get("written-in-place", ())
    takers = [reader for storage in in_place for reader in line.takers.pop(storage, ())]
    for reader in (*line.readers.pop(graph, ()), *takers):
        if not line.orders(reader, stream):
            m.emit(Race(place=place, kind="overwritten", earlier=reader.place, stream=stream))
    _meets_others(m, record, stream, place)
    work = line.replays[graph] = line.issue(stream, place)
    line.results.update(dict.fromkeys(in_place, work))
    filled = record.facts.get("filled-host", ())
    line.filling.update(dict.fromkeys(filled, work))
    pinned = [storage for storage in record.storages if storage.device == "pinned" and storage not in filled]
    line.draining.update(dict.fromkeys(pinned, work))


def _meets_others(m: Machine, record: Capture, stream: Obj, place: Place) -> None:
    """A replay while one of the graph, or of a graph in its pool, may be under way on another stream."""
    for other in m.finished:
        if other.graph is None or other.graph.fields.get("record") is not other:
            continue
        earlier = m.timeline.replays.get(other.graph.serial)
        same = other.graph is record.graph
        if earlier is None or m.timeline.orders(earlier, stream) or not (same or share_memory(record, other)):
            continue
        kind = "same-graph" if same else "same-pool"
        m.emit(Race(place=place, kind=kind, earlier=earlier.place, stream=stream))


def captured(m: Machine, owner: Tensor, source: Value | None, place: Place) -> None:
    """Captured code writes a tensor in place: copies to host memory are recorded, writes of Python not."""
    capture = m.captures[-1]
    if owner.on_device:
        fills(capture, [owner])
    if owner.device != "pinned":
        return
    if isinstance(source, Tensor) and source.on_device:
        capture.facts.setdefault("filled-host", set()).add(owner.storage)
    elif owner.storage in capture.storages and not picked(owner):
        earlier = capture.storages[owner.storage]
        if earlier.key != place.key:
            m.emit(Race(place=place, kind="host-write", earlier=earlier))


def fills(capture: Capture, tensors: Iterable[Tensor]) -> None:
    """Captured code writes memory in place that is not the graph's own: every replay does."""
    found = {tensor.storage for tensor in tensors if tensor.storage.graph is None}
    capture.facts.setdefault("written-in-place", set()).update(found)


def waits_for(m: Machine, effect: str) -> None:
    """An eager operation has an effect for which the host waits on the current stream."""
    if effect in WAITING and _is_watching(m):
        m.timeline.host_waits(m.timeline.known_to(_current(m)))


def started(m: Machine) -> None:
    """A capture begins by waiting for the device."""
    m.timeline.forget()


def picked(tensor: Tensor) -> bool:
    """Whether a tensor is one element of a larger one, chosen by a number: buffers that take turns."""
    return isinstance(tensor.part, Host)
