"""Fields that captured code binds to its outputs, in one capture after another: `self.taps = [h]`.

Python binds them in the captures only. After the last one such a field names what that graph computes,
whichever graph is replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphlint.analysis.events import LastCaptureRead
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, Write
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Cell, Fields, Obj, Value

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

BOUND = "bound by captures"
PARTS = 2


@dataclass(frozen=True, slots=True)
class Bound:
    """A capture has bound a field to memory of its graph."""

    graph: Obj
    write: Write
    steps: int


def remember(m: Machine, capture: Capture) -> None:
    """Keep which fields a capture has left at its outputs; called when it ends."""
    if capture.graph is None or capture.compiled:
        return
    known: dict[Cell, list[Bound]] = m.memo.setdefault(BOUND, {})
    for cell, write in capture.written.items():
        if not write.local and _is_of(write.value, capture.graph):
            known.setdefault(cell, []).append(Bound(capture.graph, write, m.steps))


def read(m: Machine, fields: Fields, key: Any, value: Value, place: Place, name: str) -> None:
    """Eager code reads a field: tell when it is another graph's than the one that has been replayed."""
    bound = m.memo.get(BOUND, {}).get((id(fields), key), ())
    if len(bound) < 2 or not _is_of(value, bound[-1].graph):
        return
    last = bound[-1]
    if any(each.graph is not last.graph and _is_current(each.graph, last) for each in bound):
        m.emit(LastCaptureRead(place=place, name=name, written=last.write.place))


def _is_of(value: Value, graph: Obj) -> bool:
    return any(tensor.storage.graph is graph for tensor in tensors_in(value, PARTS))


def _is_current(other: Obj, last: Bound) -> bool:
    """Whether another graph of a table may be the one replayed last: a recapture only replaces its graph."""
    if other.fields.get("keys") is None or last.graph.fields.get("keys") is None:
        return False
    when, then = other.fields.get("replayed at", 0), last.graph.fields.get("replayed at", 0)
    by_table = other.fields.get("replayed") == last.graph.fields.get("replayed")
    return bool(when > last.steps and (when > then or by_table))
