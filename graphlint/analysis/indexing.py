"""Subscripts: reading items of sequences, mappings and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    arrays,
    cells,
    class_members,
    effects,
    equality,
    functions,
    item_writes,
    lazies,
    orders,
    outputs,
    tensor_items,
    tensor_ops,
)
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Item
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, change_of, tensors_in
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    External,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    SliceValue,
    Tensor,
    Union,
    Unknown,
    Value,
    is_none,
    join_all,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def get_item(m: Machine, owner: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """`owner[index]`."""
    if type(owner) is Union:
        parts = [p for p in owner.values if not is_none(p)]
        return join_all(get_item(m, part, index, node, frame) for part in parts)
    if type(owner) is Tensor:
        return tensor_items.get(m, owner, index, node, frame)
    if type(owner) is Unknown and owner.typed == "tensor":
        return Unknown("item of a tensor", typed="tensor")
    if type(owner) is Sequence_:
        return _sequence_item(m, owner, index, node, frame)
    if type(owner) is Mapping:
        return _mapping_item(m, owner, index, node, frame)
    if type(owner) is Obj:
        return _object_item(m, owner, index, node, frame)
    if type(owner) is Class and owner.info.is_enum and type(index) is Const:
        return class_members.class_attribute(m, owner.info, str(index.value)) or Host("any", Change.CONFIG)
    if type(owner) is Class and owner.info.is_enum:
        return Host("any", Change.CONFIG)
    if isinstance(owner, (Class, External)):
        return owner
    if type(owner) is Function:
        return launcher_of(owner, index)
    if type(owner) is Unknown:
        item = arrays.item(m, owner, owner.change, frame.place(node))
        if owner.typed == "numpy" and cells_of(index):
            return Host("any", max(owner.change, change_of(index)), None, cells_of(index))
        return item
    return Unknown("item", change_of(owner))


def launcher_of(owner: Value, index: Value) -> Value:
    """`kernel[grid]`: a launcher of device code."""
    made = Obj("launcher")
    made.fields["kernel"] = owner
    made.fields["grid"] = index
    return made


def _sequence_item(m: Machine, owner: Sequence_, index: Value, node: ast.AST, frame: Frame) -> Value:
    if type(index) is SliceValue:
        effects.read_list(m, owner) if _is_from_start(index) else None
        made = _sliced(owner, index)
        step = index.step.value if type(index.step) is Const else None
        orders.note(m, made, orders.of(m, owner) if step != -1 else orders.opposite(m, owner))
        return made
    tensor_items.tensor_index(m, index, node, frame)
    if type(index) is Const and isinstance(index.value, int) and owner.rest is None:
        return _known_item(m, owner, index.value, frame.place(node))
    note_items_read(m, owner)
    held = [effects.tainted_element(m, owner, value) for value in owner.elements()]
    found = [outputs.refreshed(m, value, frame.place(node)) for value in held]
    if not found:
        return Unknown("item of an empty sequence", owner.change)
    return _chosen(join_all(found), index)


def _is_from_start(index: SliceValue) -> bool:
    """Whether a slice begins with the first element, in order."""
    plain = {index.lower: 0, index.step: 1}
    return all(is_none(b) or (isinstance(b, Const) and b.value == usual) for b, usual in plain.items())


def _known_item(m: Machine, owner: Sequence_, index: int, place: Place) -> Value:
    if not -len(owner.items) <= index < len(owner.items):
        return Unknown("index out of range")
    value = owner.items[index]
    if owner.kind == "list" and m.captures:
        key = Item(index % len(owner.items))
        cells.note_read(m, owner.fields, key, value, place, owner, f"[{key.index}]")
        value = cells.tainted(m, owner.fields, key, value, place, owner, f"[{key.index}]")
    return outputs.refreshed(m, effects.tainted_element(m, owner, value), place)


def note_items_read(m: Machine, owner: Sequence_) -> None:
    """Captured code goes through a list: each of its items is a cell that it reads."""
    capture = m.capture
    if owner.kind != "list" or capture is None or owner.serial > capture.serial:
        return
    place = m.frame.here
    for index, value in enumerate(owner.items):
        cells.note_read(m, owner.fields, Item(index), value, place, owner, f"[{index}]")
    if owner.rest is not None:
        cells.note_read(m, owner.fields, "rest", owner.rest, place, owner, "[...]")


def _chosen(value: Value, index: Value) -> Value:
    """An element picked by a changing index is a changing choice of configuration."""
    if isinstance(value, Host) and change_of(index) is Change.CHANGING:
        return Host(value.kind, Change.SHAPE, ("chosen", value.symbol, identity_of(index)), value.cells)
    return value


def _sliced(owner: Sequence_, index: SliceValue) -> Sequence_:
    bounds = [b.value for b in index.bounds if isinstance(b, Const)]
    if (
        len(bounds) == 3
        and bounds[2] != 0
        and owner.rest is None
        and all(isinstance(b, (int, type(None))) for b in bounds)
    ):
        part = slice(bounds[0], bounds[1], bounds[2])
        return Sequence_(owner.items[part], owner.kind, None, owner.change)
    joined = join_all(owner.elements()) if owner.elements() else None
    return Sequence_((), owner.kind, joined, owner.change)


def _mapping_item(m: Machine, owner: Mapping, index: Value, node: ast.AST, frame: Frame) -> Value:
    place = frame.place(node)
    if m.captures and any(tensors_in(owner, 2)):
        tensor_ops.host_use(m, node, index, "key", frame)
    identity = identity_of(index)
    if identity is not None and identity in owner.fields:
        value: Value = owner.fields[identity][1]
        cells.note_read(m, owner.fields, identity, value, place, owner, _key_text(index))
        if not m.captures:
            effects.read(m, owner.fields, identity, value, place, _key_text(index))
        return outputs.refreshed(
            m, cells.tainted(m, owner.fields, identity, value, place, owner, _key_text(index)), place
        )
    if equality.contains(owner, index) is False:
        lazies.note_absent(m, owner.fields, identity)
    found = may_be_under(owner, identity)
    if found:
        held = join_all(found)
        for key in (Mapping.ANY,) if identity is None else (Mapping.ANY, identity):
            cells.note_read(m, owner.fields, key, held, place, owner, _key_text(index))
    values = [outputs.refreshed(m, value, place) for value in found]
    if owner.factory is not None and not values:
        made = functions.call_value(m, owner.factory, node, frame)
        item_writes.set_item(m, owner, index, made, place)
        return made
    return join_all(values) if values else Unknown("item of an empty mapping")


def may_be_under(owner: Mapping, identity: object) -> list[Value]:
    """What may be found under a key that is not known to be there: nothing under another text is."""
    is_text = isinstance(identity, tuple) and identity[0] == "const" and isinstance(identity[1], str)
    return [
        entry[1]
        for key, entry in owner.fields.items()
        if entry is not None and not (is_text and key[0] == "const")
    ]


def read_all(m: Machine, owner: Mapping, place: Place) -> dict[Any, tuple[Value, Value]]:
    """Every item of a mapping is read, spread into keywords or iterated over: its entries as they are got."""
    found: dict[Any, tuple[Value, Value]] = {}
    for key, entry in owner.fields.items():
        if entry is None:
            continue
        name, value = entry
        text = _key_text(name)
        if m.captures:
            cells.note_read(m, owner.fields, key, value, place, owner, text)
        found[key] = (name, cells.tainted(m, owner.fields, key, value, place, owner, text))
    return found


def _key_text(index: Value) -> str:
    return repr(index.value) if isinstance(index, Const) else "key"


def _object_item(m: Machine, owner: Obj, index: Value, node: ast.AST, frame: Frame) -> Value:
    if isinstance(owner.cls, str):
        held = owner.fields.get("elements")
        if isinstance(held, (Sequence_, Mapping)):
            return get_item(m, held, index, node, frame)
        if owner.cls == "torch.Size" and isinstance(index, SliceValue):
            return _part_of_size(m, owner, index)
        if owner.cls == "torch.Size":
            return size_of(owner, index)
        if owner.cls == "triton.kernel":
            return launcher_of(owner, index)
        return Obj("torch.nn.Module") if owner.cls.startswith("torch.nn.") else Unknown("item")
    if owner.cls.find("__getitem__") is not None:
        return functions.call_method(m, owner, "__getitem__", [index])
    held = owner.fields.get("elements") or tuple_of(m, owner)
    return get_item(m, held, index, node, frame) if isinstance(held, Value) else Unknown("item")


def tuple_of(m: Machine, owner: Obj) -> Sequence_ | None:
    """The fields of a named tuple in order, as iteration and subscripts find them; None for other objects."""
    if isinstance(owner.cls, str) or not owner.cls.is_tuple_record:
        return None
    names = owner.cls.record_fields()
    for name in names if m.captures else ():
        cells.note_read(m, owner.fields, name, owner.fields.get(name, NONE), m.frame.here, owner, name)
    return Sequence_([owner.fields.get(name, NONE) for name in names], "tuple", site=owner.site)


def size_of(owner: Obj, index: Value) -> Host:
    """One number of a `torch.Size`."""
    return Host("int", Change.SHAPE, ("size", owner.serial, identity_of(index)))


def _part_of_size(m: Machine, owner: Obj, index: SliceValue) -> Obj:
    """`x.shape[-2:]`: the same part of the same shape is one value."""
    key = ("size", owner.serial, *map(identity_of, index.bounds))
    made = m.memo.get(key)
    if not isinstance(made, Obj):
        made = m.memo[key] = Obj("torch.Size", owner.site)
    return made
