"""Lazy caches: cells that captured code finds empty, and fills with memory of the graph being captured.

A warm-up that has filled the cell makes the code's own guard false, so nothing needs to know about warm-ups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.analysis.events import Allocated
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Cell, Fields, Mapping, Obj, Value, is_none

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note_absent(m: Machine, fields: Fields, key: Any) -> None:
    """Captured code asked for something that is certainly not there: an attribute, a key."""
    if m.capture is not None:
        m.kept_alive.append(fields)
        m.capture.absent.add((id(fields), key))


def note_filled(
    m: Machine, owner: Value | None, fields: Fields, key: Any, value: Value, place: Place
) -> None:
    """Captured code stores memory of its graph in a cell that outlives the capture."""
    capture = m.capture
    if capture is None or capture.compiled or m.lost or _belongs_to(capture, owner):
        return
    for tensor in tensors_in(value, 1):
        if tensor.storage.graph is capture.graph and tensor.storage.site is not None:
            guarded = _was_absent(m, capture, (id(fields), key))
            m.emit(Allocated(place=place, tensor=tensor, stored=place, name=str(key), guarded=guarded))


def origin(value: Value) -> Place | None:
    """Where the first tensor of a memoised value was made."""
    return next((tensor.storage.site for tensor in tensors_in(value, 1)), None)


def _belongs_to(capture: Capture, owner: Value | None) -> bool:
    """Whether the captured code itself made the object that it stores into."""
    if isinstance(owner, Obj) and isinstance(owner.cls, str) and not owner.cls.startswith("torch.nn."):
        return True
    return isinstance(owner, (Obj, Mapping)) and owner.serial in capture.made


def _was_absent(m: Machine, capture: Capture, cell: Cell) -> bool:
    read = capture.host_reads.get(cell)
    found_none = read is not None and is_none(read.value) and not _was_emptied(m, cell)
    return found_none or cell in capture.absent


def _was_emptied(m: Machine, cell: Cell) -> bool:
    """Whether eager code has emptied a cell that was filled: the capture is to record how it is filled."""
    earlier = [write.value for write in m.writes.get(cell, ()) if not write.capturing]
    return bool(earlier) and is_none(earlier[-1]) and any(list(tensors_in(value, 1)) for value in earlier)
