"""State that captured code carries from call to call by binding a name anew: `self.h = cell(x, self.h)`.

The graph reads the memory that the name had when it was captured. No replay binds the name again, so that
every one of them starts from that memory, unless eager code copies the new state into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.analysis import certainty
from graphlint.analysis.events import StateLeft
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, Item, Write
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Fields, Mapping, Sequence_, Storage, Tensor, Value, alternatives
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


PARTS = 1  # how deep state may lie in what a name holds: `(h, c)`


def note_write(m: Machine, fields: Fields, key: Any, write: Write) -> None:
    """Captured code binds a name to memory of its graph that it has computed from what the name held."""
    capture = m.captures[-1]
    read = capture.reads.get((id(fields), key)) or capture.reads.get((id(fields), _any_item(key)))
    if read is None or capture.compiled or write.local or not _is_state(capture, read.value):
        return
    made = list(tensors_in(write.value, PARTS))
    if made and all(t.storage.graph is capture.graph and _is_computed(t) for t in made):
        capture.carried[(id(fields), key)] = (write, read, certainty.now(m))


def _any_item(key: Any) -> Any:
    return "rest" if isinstance(key, Item) else key


def _is_state(capture: Capture, value: Value) -> bool:
    """Whether a value is device memory from before the capture that is no weight, or holds nothing else."""
    parts = [element for part in alternatives(value) for element in _held_by(part)]
    return bool(parts) and all(
        isinstance(part, Tensor) and part.on_device and part.storage.graph is None and not part.parameter
        for part in parts
    )


def _held_by(part: Value) -> tuple[Value, ...]:
    if isinstance(part, Sequence_):
        return part.elements()
    return tuple(value for _, value in part.entries()) if isinstance(part, Mapping) else (part,)


def _is_computed(tensor: Tensor) -> bool:
    node = tensor.storage.site.node if tensor.storage.site is not None else None
    called = node.func if isinstance(node, ast.Call) else None
    return node is not None and not (
        isinstance(called, ast.Attribute) and called.attr in operations.listed("same_state")
    )


def note_refilled(m: Machine, owner: Tensor) -> None:
    """Eager code writes into memory: it may be how the state gets back to where the graph reads it."""
    m.refilled[owner.storage] = m.clock


def is_refilled(m: Machine, record: Capture, storage: Storage) -> bool:
    """Whether eager code has written into memory since a capture."""
    return m.refilled.get(storage, -1) >= record.clock


def replayed(m: Machine, record: Capture, place: Place) -> None:
    """Tell of state that the replay before has left behind, or that is filled beside its memory."""
    graph = record.graph
    if not record.carried or graph is None:
        return
    again = graph.fields.get("stamp", 0) >= 2
    for cell, (write, read, sure) in record.carried.items():
        last = record.written.get(cell)
        if last is not write or _is_any_refilled(m, record, read.value):
            continue
        if not again and not _is_any_refilled(m, record, write.value):
            continue
        event = StateLeft(place=write.place, name=read.name, read=read.place, replayed=place)
        event.chain, event.capture, event.certainty = write.chain, record, sure
        m.emit(event)


def _is_any_refilled(m: Machine, record: Capture, value: Value) -> bool:
    return any(is_refilled(m, record, tensor.storage) for tensor in tensors_in(value, PARTS))
