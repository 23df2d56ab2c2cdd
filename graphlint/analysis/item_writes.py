"""Writing items of sequences, mappings and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    arrays,
    cells,
    effects,
    functions,
    graph_keys,
    lazies,
    lifetimes,
    orders,
    orphans,
    refills,
    storing,
    tensor_items,
)
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Item
from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import (
    NONE,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    alternatives,
    join,
    join_all,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def put_item(m: Machine, owner: Value, index: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    """`owner[index] = value`."""
    for part in alternatives(owner):
        if isinstance(part, Tensor):
            tensor_items.put(m, part, index, value, node, frame)
        elif isinstance(part, (Mapping, Sequence_)):
            set_item(m, part, index, value, frame.place(node))
        elif isinstance(part, Obj):
            _put_object(m, part, index, value, node, frame)
        else:
            if isinstance(part, Unknown):
                arrays.wrote(m, part, value, node, frame)
            lifetimes.note_escape(m, (value,))
            refills.note_lost(m, frame.place(node))


def _put_object(m: Machine, owner: Obj, index: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    if not isinstance(owner.cls, str) and owner.cls.find("__setitem__") is not None:
        functions.call_method(m, owner, "__setitem__", [index, value])
        return
    held = owner.fields.get("elements")
    if isinstance(held, (Mapping, Sequence_)):
        set_item(m, held, index, value, frame.place(node))
    elif isinstance(owner.cls, str):
        made = Mapping(owner.site)
        m.heap.write(owner.fields, "elements", made)
        set_item(m, made, index, value, frame.place(node))


def set_item(m: Machine, owner: Mapping | Sequence_, index: Value, value: Value, place: Place | None) -> None:
    """Store into a container; outside a capture an output alias kept this way is remembered."""
    storing.note_kept(m, value, place)
    graph_keys.note_keyed(m, value, index)
    if isinstance(owner, Mapping):
        _set_entry(m, owner, index, value, place)
    else:
        _set_element(m, owner, index, value, place)


def _set_entry(m: Machine, owner: Mapping, index: Value, value: Value, place: Place | None) -> None:
    graph_keys.note_held(m, owner, value)
    identity = identity_of(index)
    if place is not None:
        lazies.note_filled(m, owner, owner.fields, identity, value, place)
        note_overwritten(m, owner, index, value, place)
    if identity is not None:
        _put(m, owner, identity, index, value, place)
        return
    if place is not None:
        orphans.note_grown(m, owner, value, place)
    old = owner.fields.get(Mapping.REST)
    m.heap.write(owner.fields, Mapping.REST, (index, value if old is None else join(old[1], value)))
    if place is not None:
        cells.log_write(m, owner.fields, Mapping.REST, value, place)


def _set_element(m: Machine, owner: Sequence_, index: Value, value: Value, place: Place | None) -> None:
    orders.forget(m, owner)
    items = list(owner.items)
    if isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items):
        items[index.value] = value
        m.heap.write(owner.fields, "items", tuple(items))
        key: Any = Item(index.value % len(items))
    else:
        rest = owner.rest
        m.heap.write(owner.fields, "rest", value if rest is None else join(rest, value))
        key = "rest"
    if place is not None:
        cells.log_write(m, owner.fields, key, value, place)


def note_overwritten(m: Machine, owner: Mapping, key: Value, value: Value, place: Place) -> None:
    """A store under a name that comes with the data may be one under any name that is there."""
    is_name = isinstance(key, Unknown) or (isinstance(key, Host) and key.kind in ("str", "any"))
    if is_name and owner.fields and not m.captures and not m.frame.conditions:
        cells.log_write(m, owner.fields, Mapping.ANY, value, place)


def _put(
    m: Machine, owner: Mapping, identity: object, index: Value, value: Value, place: Place | None
) -> None:
    old = owner.fields.get(identity)
    if old is None and place is not None:
        orphans.note_grown(m, owner, value, place)
    m.heap.write(owner.fields, identity, (index, value))
    if place is not None:
        orphans.note_replaced(m, owner.fields, identity, old, value, place)
        cells.log_write(m, owner.fields, identity, value, place)


def extend(
    m: Machine, owner: Sequence_, known: tuple[Value, ...], rest: Value | None, node: ast.AST, frame: Frame
) -> None:
    """Append elements to a list; a long list is kept as its first elements and a join of the others."""
    place = frame.place(node)
    orders.forget(m, owner)
    for value in known:
        storing.note_kept(m, value, place)
        graph_keys.note_keyed(m, value, None)
    effects.note_append(m, owner, place)
    items = (*owner.items, *known)
    if len(items) > 32:
        joined = join_all([*items[32:], *([owner.rest] if owner.rest is not None else [])])
        m.heap.write(owner.fields, "rest", joined)
        items = items[:32]
    m.heap.write(owner.fields, "items", items)
    if rest is not None:
        storing.note_kept(m, rest, place)
        m.heap.write(owner.fields, "rest", rest if owner.rest is None else join(owner.rest, rest))
    cells.log_write(m, owner.fields, "items", owner, place)


def delete_item(m: Machine, owner: Value, index: Value, node: ast.AST, frame: Frame) -> None:
    """`del owner[index]`."""
    if isinstance(owner, Mapping):
        identity = identity_of(index)
        if identity in owner.fields:
            orphans.note_dropped(m, owner.fields[identity])
            m.heap.write(owner.fields, identity, (index, NONE))
