"""Static inputs that the caller of a capture knows by a name of its own, and gives up under that name.

`self.graph, self.x, self.y = capture(net)`: captured code read a local of `capture`, the program fills what
it calls `self.x`. Where that name, and no other, led to the memory, and it leads elsewhere at a replay with
nothing written to the old memory since the capture, the graph goes on reading what it was captured with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graphlint.analysis import carried, lifetimes
from graphlint.analysis.graphs import Capture, Changed, Read, names_other_memory, value_in
from graphlint.analysis.values import Fields, Storage, Tensor, Value, same

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# Memory of others, and what is reported where it is lost.
NOT_INPUTS = frozenset({"parameter", "buffer", "opaque", "assumed"})


def note_named(m: Machine, fields: Fields, key: Any, value: Value) -> None:
    """Eager code has given memory a name after something was captured."""
    if m.finished and not m.captures and type(value) is Tensor and value.storage.graph is None:
        m.names_of.setdefault(value.storage, []).append((fields, key))


def changed(m: Machine, record: Capture) -> Iterator[Changed]:
    """The inputs of a graph whose names have been given to other memory, and that nobody refills."""
    found = [
        (storage, given_up)
        for storage in record.storages
        if _is_input(storage) and not carried.is_refilled(m, record, storage)
        for fields, key in m.names_of.get(storage, ())
        if (given_up := _given_up(m, record, storage, fields, key)) is not None
    ]
    if found:
        reach = lifetimes.Reach(m)
        reach.walk(lifetimes.roots_of(m))
        if not reach.spent:
            yield from (given_up for storage, given_up in found if storage not in reach.storages)


def _is_input(storage: Storage) -> bool:
    return storage.graph is None and storage.site is not None and storage.owner not in NOT_INPUTS


def _given_up(m: Machine, record: Capture, storage: Storage, fields: Fields, key: Any) -> Changed | None:
    """What a name leads to now that was given to the memory after the capture; None while it leads there."""
    now = value_in(fields, key)
    since = [w for w in m.writes.get((id(fields), key), ()) if w.clock >= record.clock]
    named = next((w for w in since if isinstance(w.value, Tensor) and w.value.storage is storage), None)
    if now is None or named is None or (id(fields), key) in record.reads:
        return None
    last = since[-1]
    if last.place.key == named.place.key or last.capturing or not same(last.value, now):
        return None  # the line that names the input of one graph names that of the next
    if not any(names_other_memory(named.value, now)):
        return None
    name = key if isinstance(key, str) else "this item"
    read = Read(fields, key, named.value, record.storages[storage], record.chain, None, name)
    return Changed(read, now, [last], False)
