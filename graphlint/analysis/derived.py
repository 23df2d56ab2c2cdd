"""Tensors that a warm-up computes from inputs, and that captured code then finds: `if self.rows is None`.

The graph has not recorded how they are computed. When the inputs are rewritten before a replay, they stay
what they were in the warm-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import carried
from graphlint.analysis.events import InputDerived
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, Read, Write, value_in
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Cell, Storage, Tensor, Value

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# A tensor made from more than this says nothing about any of them.
MOST_SOURCES = 12


# Storages that may be those of the weights that they were made from: a conversion may have nothing to do.
PERHAPS_WEIGHTS = "perhaps weights"


def note_made(m: Machine, operands: list[Tensor], made: Value, *, converted: bool = False) -> None:
    """Eager code has computed tensors from others, or perhaps only converted one: they remember what from."""
    if m.captures:
        return
    sources: set[Storage] = set()
    for tensor in operands:
        sources |= {tensor.storage, *tensor.storage.sources}
    for tensor in tensors_in(made, 1):
        if tensor.storage not in sources and len(sources) <= MOST_SOURCES:
            tensor.storage.sources = frozenset(sources)
            perhaps = m.memo.setdefault(PERHAPS_WEIGHTS, set())
            if converted and any(each.parameter or each.storage in perhaps for each in operands):
                perhaps.add(tensor.storage)


def replayed(m: Machine, record: Capture, place: Place) -> None:
    """A graph is replayed again: look for what it reads and should have computed."""
    if record.graph is None or record.graph.fields.get("stamp", 0) < 2:
        return
    for cell, read in record.reads.items():
        for tensor in tensors_in(read.value, 0):
            write = _last_write(m, cell, read, tensor)
            if write is None or not _is_behind(m, record, tensor):
                continue
            weights = _are_weights_behind(m, record, tensor)
            if weights or _was_passed(record, write):
                event = InputDerived(place=write.place, name=read.name, replayed=place, capture=record)
                event.weights = weights
                m.emit(event)


def _last_write(m: Machine, cell: Cell, read: Read, tensor: Tensor) -> Write | None:
    """Where eager code gave the cell a tensor that it still names."""
    now = value_in(read.fields, read.key)
    if now is None or not tensor.storage.sources or not _leads_to(now, tensor):
        return None
    earlier = reversed(m.writes.get(cell, ()))
    return next((w for w in earlier if not w.capturing and _leads_to(w.value, tensor)), None)


def _leads_to(value: Value, tensor: Tensor) -> bool:
    return any(held.storage is tensor.storage for held in tensors_in(value, 0))


def _is_behind(m: Machine, record: Capture, tensor: Tensor) -> bool:
    """Whether what a tensor was computed from has been rewritten since the capture, and it itself has not."""
    if tensor.parameter or tensor.storage in record.filled or carried.is_refilled(m, record, tensor.storage):
        return False
    return any(carried.is_refilled(m, record, source) for source in tensor.storage.sources)


def _are_weights_behind(m: Machine, record: Capture, tensor: Tensor) -> bool:
    """Whether weights that a tensor was certainly computed from have been loaded anew."""
    if tensor.storage in m.memo.get(PERHAPS_WEIGHTS, ()):
        return False
    weights = (source for source in tensor.storage.sources if source.owner == "parameter")
    return any(carried.is_refilled(m, record, source) for source in weights)


def _was_passed(record: Capture, write: Write) -> bool:
    """Whether captured code ran the function of a write, and went past the write."""
    return (write.place.module.path, write.place.function) in set(_functions(record))


def _functions(record: Capture) -> Iterator[tuple[object, str]]:
    return ((place.module.path, place.function) for place, _ in record.functions.values())
