"""Inputs that captured code was handed, and that the program gives up where it names them.

`wrapper(self.ids.gpu[:n])` captures what it is given: captured code reads no field, so that no field that it
has read changes when `self.ids.gpu`, or `self.ids`, is bound to something else. What tells is the memory: the
graph reads it, and with that write nothing leads to it any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphlint.analysis import cells, lifetimes, renewals
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import DROPPED, Capture, Changed, Read
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    Fields,
    Mapping,
    Obj,
    Sequence_,
    Storage,
    Tensor,
    Value,
    alternatives,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# How far an object is looked into for tensors of its own, and how many values in all.
DEEPEST, MOST = 2, 60


def note_replaced(m: Machine, fields: Fields, key: Any, before: Value, value: Value, place: Place) -> None:
    """Eager code has bound a cell anew: graphs may read memory that only its old value led to."""
    handed = {tensor.storage: tensor for tensor in _own_tensors(before) if _is_plain(tensor.storage)}
    readers = [record for record in m.finished if _reads_unnamed(record, handed, (id(fields), key))]
    if not readers:
        return
    now = lifetimes.Reach(m)
    now.walk([*lifetimes.roots_of(m), value])
    for record in readers if not now.spent else ():
        assert record.graph is not None
        if record.graph.serial in now.objects:
            for storage in handed.keys() & record.storages.keys() - now.storages - m.escaped:
                _note(m, record, handed[storage], fields, key, value, place)


def _note(
    m: Machine, record: Capture, tensor: Tensor, fields: Fields, key: Any, value: Value, place: Place
) -> None:
    name = key if isinstance(key, str) else "this item"
    cells.log_write(m, record.lost, tensor.storage, value, place)
    used = record.storages[tensor.storage]
    record.lost.setdefault(tensor.storage, Read(fields, key, tensor, used, record.chain, None, name))


def changed(m: Machine, record: Capture, told: Sequence[Changed]) -> Iterator[Changed]:
    """What a replay finds lost of the memory that captured code was handed, and nothing else tells of."""
    assert record.graph is not None
    known = {tensor.storage for each in told for tensor in tensors_in(each.read.value, 1)}
    for storage, read in record.lost.items() if not record.graph.fields.get(DROPPED) else ():
        writes = renewals.writes_since(m, record, (id(record.lost), storage))
        if writes and storage not in known:
            yield Changed(read, writes[-1].value, writes, False)


def _reads_unnamed(record: Capture, handed: dict[Storage, Tensor], cell: tuple[int, Any]) -> bool:
    """Whether a graph reads some of this memory, and its code did not find it in this very cell."""
    return (
        not record.storages.keys().isdisjoint(handed)
        and cell not in record.reads
        and lifetimes.records_addresses(record)
        and record.graph is not None
    )


def _is_plain(storage: Storage) -> bool:
    """Whether memory of the device, or pinned, lives only as long as the program names it."""
    return lifetimes.hangs_on_names(storage) and storage.device != "cpu"


def _own_tensors(value: Value) -> Iterator[Tensor]:
    """The tensors of a value, and of a record that it is."""
    pending, met = [(part, 0) for part in alternatives(value)], 0
    while pending and met < MOST:
        part, depth = pending.pop()
        met += 1
        if isinstance(part, Tensor):
            yield part
        elif depth < DEEPEST and isinstance(part, (Obj, Sequence_, Mapping)):
            pending += [(each, depth + 1) for held in _held(part) for each in alternatives(held)]


def _held(value: Obj | Sequence_ | Mapping) -> list[Value]:
    if isinstance(value, Sequence_):
        return list(value.elements())
    if isinstance(value, Mapping):
        return [held for _, held in value.entries()]
    return [held for held in value.fields.values() if isinstance(held, Value)]
