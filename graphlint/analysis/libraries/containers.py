"""Lists, sets and dicts: what their methods return and leave behind."""

from __future__ import annotations

from graphlint.analysis import (
    arithmetic,
    cells,
    effects,
    elements,
    equality,
    indexing,
    item_writes,
    lazies,
    orders,
    orphans,
    outputs,
    walked,
)
from graphlint.analysis.heap import MISSING
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Const, Host, Mapping, Sequence_, Unknown, Value, join, join_all


def update(call: Call, made: Mapping, source: Value) -> None:
    if isinstance(source, Mapping):
        for key, entry in source.fields.items():
            item_writes.note_overwritten(call.m, made, entry[0], entry[1], call.place)
            call.m.heap.write(made.fields, key, entry)
            cells.log_write(call.m, made.fields, key, entry[1], call.place)
        return
    for pair in elements.all_elements(call.m, source):
        if isinstance(pair, Sequence_) and len(pair.items) == 2:
            item_writes.set_item(call.m, made, pair.items[0], pair.items[1], None)


@model("builtins.list.append", "builtins.set.add", "builtins.list.appendleft")
def _append(call: Call) -> Value:
    if isinstance(call.owner, Sequence_) and call.args:
        given = outputs.collected(call.m, call.args[0], call.place)
        item_writes.extend(call.m, call.owner, (given,), None, call.node, call.frame)
    return NONE


@model("heapq.heappush", "heapq.heappushpop", "heapq.heapreplace")
def _push(call: Call) -> Value:
    """A heap is a list; what `heappushpop` and `heapreplace` give back is one of its elements."""
    heap = call.args[0] if call.args else NONE
    if not isinstance(heap, Sequence_) or len(call.args) < 2:
        return Unknown("heap")
    item_writes.extend(call.m, heap, (call.args[1],), None, call.node, call.frame)
    return NONE if call.name.endswith("heappush") else join_all(heap.elements())


@model("builtins.list.extend", "builtins.set.update")
def _extend(call: Call) -> Value:
    if isinstance(call.owner, Sequence_) and call.args:
        known, rest = elements.of(call.m, call.args[0])
        item_writes.extend(call.m, call.owner, known, rest, call.node, call.frame)
    return NONE


@model("builtins.list.insert")
def _insert(call: Call) -> Value:
    if isinstance(call.owner, Sequence_) and len(call.args) > 1:
        item_writes.extend(call.m, call.owner, (call.args[1],), None, call.node, call.frame)
    return NONE


@model("builtins.list.pop", "builtins.set.pop", "builtins.list.popleft")
def _pop(call: Call) -> Value:
    owner = call.owner
    if not isinstance(owner, Sequence_):
        return Unknown("pop")
    if owner.items and owner.rest is None:
        if call.name.endswith("popleft") or call.args:
            effects.take(call.m, owner)
        effects.note_pop(call.m, owner, call.place)
        last = owner.items[-1] if call.name.endswith("pop") and not call.args else owner.items[0]
        left = owner.items[:-1] if last is owner.items[-1] else owner.items[1:]
        orphans.note_dropped(call.m, last)
        call.m.heap.write(owner.fields, "items", left)
        return outputs.refreshed(call.m, last, call.place)
    effects.note_pop(call.m, owner, call.place)
    return elements.joined_elements(call.m, owner)


@model("builtins.list.clear", "builtins.set.clear")
def _clear(call: Call) -> Value:
    if isinstance(call.owner, Sequence_):
        orphans.note_dropped(call.m, call.owner)
        call.m.heap.write(call.owner.fields, "items", ())
        call.m.heap.write(call.owner.fields, "rest", None)
    return NONE


@model("builtins.list.copy", "builtins.set.copy", "builtins.set.union", "builtins.set.intersection")
def _copy(call: Call) -> Value:
    owner = call.owner
    if isinstance(owner, Sequence_):
        made = Sequence_(owner.items, owner.kind, owner.rest, owner.change)
        orders.note(call.m, made, orders.of(call.m, owner))
        return made
    return Unknown("copy")


@model("builtins.list.index", "builtins.list.count")
def _index(call: Call) -> Value:
    return arithmetic.derived(call.name, *call.args, kind="int") if call.args else Host("int")


@model("builtins.list.reverse")
def _reverse(call: Call) -> Value:
    owner = call.owner
    if isinstance(owner, Sequence_):
        order = orders.opposite(call.m, owner)
        call.m.heap.write(owner.fields, "items", tuple(reversed(owner.items)))
        orders.note(call.m, owner, order)
    return NONE


@model("builtins.dict.get", "builtins.dict.pop", "builtins.dict.setdefault")
def _dict_get(call: Call) -> Value:
    owner, key = call.owner, call.get(0, "key")
    if not isinstance(owner, Mapping) or key is None:
        return Unknown("get")
    default = call.get(1, "default") or NONE
    found = equality.contains(owner, key)
    if found is False:
        lazies.note_absent(call.m, owner.fields, identity_of(key))
        if call.name.endswith("setdefault"):
            item_writes.set_item(call.m, owner, key, default, call.place)
        return default
    value = indexing.get_item(call.m, owner, key, call.node, call.frame)
    if call.name.endswith("pop") and identity_of(key) in owner.fields:
        orphans.note_dropped(call.m, owner.fields[identity_of(key)])
        call.m.heap.write(owner.fields, identity_of(key), MISSING)
    return value if found else join(value, default)


@model("builtins.dict.keys", "builtins.dict.values", "builtins.dict.items")
def _dict_parts(call: Call) -> Value:
    if not isinstance(call.owner, Mapping):
        return Unknown("dict")
    walked.note_table(call.m, call.owner)
    part = call.name.rpartition(".")[2]
    entries = call.owner.fields
    if part != "keys":
        entries = indexing.read_all(call.m, call.owner, call.place)
    rest = entries.get(Mapping.REST)
    known = [
        (k, outputs.refreshed(call.m, v, call.place))
        for key, (k, v) in entries.items()
        if key != Mapping.REST
    ]
    more = _entry_part(part, *rest) if rest is not None else None
    return Sequence_([_entry_part(part, *entry) for entry in known], "list", more)


def _entry_part(part: str, key: Value, value: Value) -> Value:
    if part == "keys":
        return key
    return value if part == "values" else Sequence_([key, value], "tuple")


@model("builtins.dict.update")
def _dict_update(call: Call) -> Value:
    if isinstance(call.owner, Mapping):
        for source in call.args:
            update(call, call.owner, source)
        for name, value in call.arguments.kwargs.items():
            item_writes.set_item(call.m, call.owner, Const(name), value, call.place)
    return NONE


@model("builtins.dict.clear")
def _dict_clear(call: Call) -> Value:
    if isinstance(call.owner, Mapping):
        for key in list(call.owner.fields):
            orphans.note_dropped(call.m, call.owner.fields[key])
            call.m.heap.write(call.owner.fields, key, MISSING)
    return NONE


@model("builtins.dict.copy")
def _dict_copy(call: Call) -> Value:
    made = Mapping(call.place)
    if isinstance(call.owner, Mapping):
        made.fields.update(call.owner.fields)
    return made


@model("builtins.dict.fromkeys")
def _fromkeys(call: Call) -> Value:
    made = Mapping(call.place)
    value = call.get(1, "value") or NONE
    for key in elements.all_elements(call.m, call.args[0]) if call.args else ():
        item_writes.set_item(call.m, made, key, value, None)
    return made
