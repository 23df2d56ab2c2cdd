"""Inputs of graphs kept by key that lose their last name when a later graph gets inputs of its own.

`self.x = torch.zeros(rows)` before the capture for another number of rows leaves the older graphs with an
address that the allocator gives to somebody else. Graphs that are dropped, or that are all captured anew,
are not meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from graphlint.analysis import conditions, graph_keys, lifetimes, lost_inputs, settled
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import DROPPED, Capture, Changed, Read, Write
from graphlint.analysis.values import Cell, Env, Fields, Mapping, Obj, Unknown, Value, alternatives
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note_replaced(m: Machine, fields: Fields, key: Any, old: object, value: Value, place: Place) -> None:
    """Eager code has written `value` where a cell named `old`: inputs of graphs may have lost their name."""
    before = _value(old)
    if m.captures or not m.finished or before is None or before is value:
        return
    note_dropped(m, before, value)
    lost_inputs.note_replaced(m, fields, key, before, value, place)
    readers = [(each, _cells(each, fields, key)) for each in m.finished if _is_kept_by_key(each)]
    tests = settled.way(m) if readers else ()
    readers = [each for each in readers if each[1] and not settled.excludes(each[0], tests, {})]
    if readers and not conditions.finds_empty(m, fields, key):
        _note_lost(m, readers, before, value, place)


def note_grown(m: Machine, owner: Mapping, value: Value, place: Place) -> None:
    """Eager code is about to store under a key that is not known to be there: `if capacity < needed`.

    The entry that was too small is one of those that are there.
    """
    if m.captures or not m.finished or not _is_under_a_bound(m):
        return
    for key, entry in list(owner.fields.items()):
        owner.fields[key] = (entry[0], value)
        note_replaced(m, owner.fields, key, entry, value, place)
        owner.fields[key] = entry


def note_dropped(m: Machine, old: object, value: Value | None = None) -> None:
    """A container has let go of graphs: nobody replays them with inputs that they have lost."""
    before = _value(old)
    if not m.finished or before is None:
        return
    kept = _graphs_in(value) if value is not None else []
    for graph in _graphs_in(before):
        if not any(graph is other for other in kept):
            graph.fields[DROPPED] = True


def changed(m: Machine, record: Capture, read: Read) -> Changed | None:
    """What a replay finds of an input that has lost its last name since."""
    write = record.orphaned.get((id(read.fields), read.key))
    if (
        write is None
        or record.graph is None
        or record.graph.fields.get(DROPPED)
        or _is_renewed(m, record, write)
    ):
        return None
    return Changed(read, write.value, [write], False, orphaned=True)


def _note_lost(
    m: Machine, readers: Iterable[tuple[Capture, list[Cell]]], before: Value, value: Value, place: Place
) -> None:
    held, now = lifetimes.Reach(m), lifetimes.Reach(m)
    held.walk([before])
    now.walk([*lifetimes.roots_of(m), value])
    if held.spent or now.spent:
        return
    for record, cells in readers:
        assert record.graph is not None
        read = held.storages & record.storages.keys() - now.storages - m.escaped
        lost = any(map(lifetimes.hangs_on_names, read))
        if lost and record.graph.serial in now.objects:
            write = Write(place, m.chain(place), m.clock, False, value, loops=_loops_of(m))
            record.orphaned.update(dict.fromkeys(cells, write))


def _is_kept_by_key(record: Capture) -> bool:
    """Whether a graph lies beside others in a container, from which any of them may be replayed."""
    graph = record.graph
    if graph is None or graph.fields.get("keys") is None or graph.fields.get(DROPPED):
        return False
    return lifetimes.records_addresses(record)


def _cells(record: Capture, fields: Fields, key: Any) -> list[Cell]:
    """The cells by which captured code may have read what is under a key; names of calls are left out."""
    cells = [(id(fields), key), (id(fields), Mapping.ANY)]
    return [cell for cell in cells if cell in record.reads and not isinstance(record.reads[cell].owner, Env)]


def _is_under_a_bound(m: Machine) -> bool:
    """Whether the innermost test on the way here compares sizes, and is undecided."""
    tests = m.frame.conditions
    return bool(tests) and not tests[-1].decided and _compares_sizes(tests[-1].place.node)


@per_node
def _compares_sizes(test: ast.AST) -> bool:
    return any(isinstance(part, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for part in ast.walk(test))


def _is_renewed(m: Machine, record: Capture, write: Write) -> bool:
    """Whether a loop that began after the write captures the region anew, for every key as it seems.

    A write among the captures of one campaign says nothing about the other turns of the loops around it:
    each of them captures for keys of its own.
    """
    if record.loops and {id(loop) for loop, _ in record.loops} == write.loops:
        return False
    return any(
        other.clock > write.clock
        and other.place.key == record.place.key
        and not {id(loop) for loop, _ in other.loops} <= write.loops
        for other in m.finished
    )


def _loops_of(m: Machine) -> frozenset[int]:
    return frozenset(id(loop) for frame in m.frames for loop in frame.loops)


def _graphs_in(value: Value) -> list[Obj]:
    parts: list[Value] = []
    for one in alternatives(value):
        parts += [part for _, part in one.entries()] if isinstance(one, Mapping) else [one]
    return [graph for part in parts for graph in graph_keys.held_graphs(part)]


def _value(cell: object) -> Value | None:
    """The value of a cell; the entries of a mapping are pairs."""
    if isinstance(cell, tuple) and len(cell) == 2:
        cell = cell[1]
    return cell if isinstance(cell, Value) and type(cell) is not Unknown else None
