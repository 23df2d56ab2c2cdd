"""Tensor operations on the host in captured code: they run once, at the capture, and no replay repeats them.

What they make of memory that the program goes on writing is old news from the next replay on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis import carried, certainty
from graphlint.analysis.certainty import Certainty
from graphlint.analysis.events import Called, HostWork
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, names_other_memory, value_in
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Const, Storage, Tensor
from graphlint.finding import Hop

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

ON_HOST = ("cpu", "pinned")


@dataclass(slots=True)
class Work:
    """What captured code has computed on the host, and from which memory that it has not made itself."""

    place: Place
    chain: tuple[Hop, ...]
    certainty: Certainty
    sources: frozenset[Storage]
    sums: bool = False  # it goes on from its own old value
    recorded: bool = False  # the graph copies it to the device


@dataclass(frozen=True, slots=True)
class Draw:
    """Random numbers that captured code has drawn on the host."""

    name: str
    place: Place


def note_draw(m: Machine, name: str, made: Iterable[Tensor], place: Place) -> None:
    """Captured code has drawn random numbers on the host, with an operation of this name."""
    capture = m.capture
    if capture is not None and not capture.compiled:
        drawn: dict[Storage, Draw] = capture.facts.setdefault("host-draws", {})
        drawn.update({each.storage: Draw(name, place) for each in made if each.device in ON_HOST})


def read_in_capture(m: Machine, tensors: Iterable[Tensor]) -> None:
    """Python asks for values of tensors while a capture runs: what was drawn for them is drawn once."""
    drawn = m.capture.facts.get("host-draws", {}) if m.capture is not None else {}
    for tensor in tensors if drawn else ():
        draw = drawn.get(tensor.storage)
        if draw is not None:
            m.emit(Called(place=draw.place, what="host-random", target=Const(draw.name)))


def note(m: Machine, operands: Iterable[Tensor], results: Iterable[Tensor], place: Place) -> None:
    """Captured code has computed `results`; on the device, they may take in what was computed on the host."""
    capture = m.capture
    if capture is None or capture.compiled:
        return
    given, made = list(operands), list(results)
    works: dict[Storage, Work] = capture.facts.setdefault("host-work", {})
    for each in given:
        if each.storage in works and any(result.on_device for result in made):
            works[each.storage].recorded = True
    if any(each.on_device for each in given):  # every replay brings it to the host anew
        held = {each.storage for each in made if each.device in ON_HOST}
        capture.facts.setdefault("host-copies", set()).update(held)
    if not all(each.device in ON_HOST for each in (*given, *made)):
        return
    draws = capture.facts.get("host-draws", {})
    draw = next((draws[each.storage] for each in given if each.storage in draws), None)
    draws.update({each.storage: draw for each in made if draw is not None})
    sources = frozenset(source for each in given for source in _sources(capture, works, each))
    for each in made:
        if sources:
            sums = any(one.storage is each.storage for one in given)
            works[each.storage] = Work(place, m.chain(place), certainty.now(m), sources, sums)
        else:
            works.pop(each.storage, None)


def _sources(capture: Capture, works: dict[Storage, Work], operand: Tensor) -> Iterable[Storage]:
    known = works.get(operand.storage)
    if known is not None:
        return known.sources
    return (operand.storage,) if operand.storage.serial < capture.facts.get("born", 0) else ()


def replayed(m: Machine, record: Capture) -> None:
    """A graph is replayed: with results that were computed from what has changed since."""
    for made, work in record.facts.get("host-work", {}).items():
        if work.recorded and not carried.is_refilled(m, record, made):
            if any(_changes(m, record, each) for each in work.sources - {made}):
                _tell(m, record, work, None)


def read(m: Machine, tensors: Iterable[Tensor], place: Place) -> None:
    """Eager code reads tensors on the host, after replays that should have moved them on."""
    for tensor in tensors if not m.captures else ():
        for record in m.finished if tensor.device in ON_HOST else ():
            work = record.facts.get("host-work", {}).get(tensor.storage)
            if work is None or not work.sums or carried.is_refilled(m, record, tensor.storage):
                continue
            if record.graph is not None and record.graph.fields.get("stamp", 0):
                _tell(m, record, work, place)


def _tell(m: Machine, record: Capture, work: Work, read_at: Place | None) -> None:
    event = HostWork(place=work.place, chain=work.chain, capture=record, certainty=work.certainty)
    event.read = read_at
    m.emit(event)


def _changes(m: Machine, record: Capture, source: Storage) -> bool:
    """Whether memory holds something new since the capture: by the program, or by the replays themselves."""
    if source in record.facts.get("host-copies", ()):
        return True
    return carried.is_refilled(m, record, source) or _is_replaced(record, source)


def _is_replaced(record: Capture, storage: Storage) -> bool:
    """Whether what captured code found the memory by names other memory now."""
    for found in record.host_memory.values():
        if any(tensor.storage is storage for tensor in tensors_in(found.value, 1)):
            now = value_in(found.fields, found.key)
            return now is not None and names_other_memory(found.value, now)[1]
    return False
