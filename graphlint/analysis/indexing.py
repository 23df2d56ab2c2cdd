"""Subscripts: reading and writing items of tensors, sequences, mappings and objects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from graphlint.analysis import attributes, captures, functions, tensor_ops
from graphlint.analysis.frames import Frame, Place
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
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    change_of,
    identity_of,
    join,
    join_all,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


class SliceValue(Value):
    """`lower:upper:step` as an index."""

    __slots__ = ("lower", "step", "upper")

    def __init__(self, lower: Value, upper: Value, step: Value) -> None:
        self.lower = lower
        self.upper = upper
        self.step = step

    @property
    def bounds(self) -> tuple[Value, ...]:
        return (self.lower, self.upper, self.step)


def get_item(m: Machine, owner: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """`owner[index]`."""
    if isinstance(owner, Union):
        parts = [p for p in owner.values if not (isinstance(p, Const) and p.value is None)]
        return join_all(get_item(m, part, index, node, frame) for part in parts)
    if isinstance(owner, Tensor):
        return _tensor_item(m, owner, index, node, frame)
    if isinstance(owner, Unknown) and owner.typed == "tensor":
        return Unknown("item of a tensor", typed="tensor")
    if isinstance(owner, Sequence_):
        return _sequence_item(m, owner, index, node, frame)
    if isinstance(owner, Mapping):
        return _mapping_item(m, owner, index, node, frame)
    if isinstance(owner, Obj):
        return _object_item(m, owner, index, node, frame)
    if isinstance(owner, Class) and owner.info.is_enum:
        return Host("any", Change.CONFIG)
    if isinstance(owner, (Class, External)):
        return owner
    if isinstance(owner, Function):
        return launcher_of(owner, index)
    return Unknown("item", change_of(owner))


def launcher_of(owner: Value, index: Value) -> Value:
    """`kernel[grid]`: a launcher of device code."""
    made = Obj("launcher")
    made.fields["kernel"] = owner
    made.fields["grid"] = index
    return made


def _sequence_item(m: Machine, owner: Sequence_, index: Value, node: ast.AST, frame: Frame) -> Value:
    if isinstance(index, SliceValue):
        return _sliced(owner, index)
    tensor_index(m, index, node, frame)
    if isinstance(index, Const) and isinstance(index.value, int) and owner.rest is None:
        if -len(owner.items) <= index.value < len(owner.items):
            return m.refresh(owner.items[index.value], frame.place(node))
        return Unknown("index out of range")
    found = [m.refresh(value, frame.place(node)) for value in owner.elements()]
    if not found:
        return Unknown("item of an empty sequence", owner.change)
    return _chosen(join_all(found), index)


def _chosen(value: Value, index: Value) -> Value:
    """An element picked by a changing index is a changing choice of configuration."""
    if isinstance(value, Host) and change_of(index) is Change.CHANGING:
        return Host(value.kind, Change.SHAPE, ("chosen", value.symbol, identity_of(index)), value.cells)
    return value


def _sliced(owner: Sequence_, index: SliceValue) -> Value:
    bounds = [b.value for b in index.bounds if isinstance(b, Const)]
    if len(bounds) == 3 and owner.rest is None and all(isinstance(b, (int, type(None))) for b in bounds):
        part = slice(bounds[0], bounds[1], bounds[2])
        return Sequence_(owner.items[part], owner.kind, None, owner.change)
    joined = join_all(owner.elements()) if owner.elements() else None
    return Sequence_((), owner.kind, joined, owner.change)


def _mapping_item(m: Machine, owner: Mapping, index: Value, node: ast.AST, frame: Frame) -> Value:
    place = frame.place(node)
    identity = identity_of(index)
    if identity is not None and identity in owner.fields:
        value: Value = owner.fields[identity][1]
        m.note_read(owner.fields, identity, value, place, owner, _key_text(index))
        return m.refresh(m.tainted(owner.fields, identity, value, place, owner, _key_text(index)), place)
    values = [m.refresh(value, place) for _, value in owner.entries()]
    if owner.factory is not None and not values:
        made = functions.call_value(m, owner.factory, node, frame)
        set_item(m, owner, index, made, place)
        return made
    return join_all(values) if values else Unknown("item of an empty mapping")


def _key_text(index: Value) -> str:
    return repr(index.value) if isinstance(index, Const) else "key"


def _object_item(m: Machine, owner: Obj, index: Value, node: ast.AST, frame: Frame) -> Value:
    if isinstance(owner.cls, str):
        held = owner.fields.get("elements")
        if isinstance(held, (Sequence_, Mapping)):
            return get_item(m, held, index, node, frame)
        if owner.cls == "torch.Size":
            return Host("int", Change.SHAPE, ("size", owner.serial, identity_of(index)))
        if owner.cls == "triton.kernel":
            return launcher_of(owner, index)
        return Obj("torch.nn.Module") if owner.cls.startswith("torch.nn.") else Unknown("item")
    if owner.cls.find("__getitem__") is not None:
        return functions.call_method(m, owner, "__getitem__", [index])
    held = owner.fields.get("elements")
    return get_item(m, held, index, node, frame) if isinstance(held, Value) else Unknown("item")


# tensors


def tensor_index(m: Machine, index: Value, node: ast.AST, frame: Frame) -> None:
    """A device tensor used where Python wants an integer."""
    for part in alternatives(index):
        if isinstance(part, Tensor) and part.on_device:
            tensor_ops.effect(m, node, "Tensor.__index__", "scalar-read", (part,), frame, how="index")


def parts_of(index: Value) -> tuple[Value, ...]:
    if isinstance(index, Sequence_) and index.kind == "tuple":
        return index.items
    return (index,)


def _tensor_item(m: Machine, owner: Tensor, index: Value, node: ast.AST, frame: Frame) -> Value:
    advanced = _judge_index(m, owner, index, node, frame, writing=False)
    ndim = _rank_after(owner, index)
    if advanced:
        tensor_ops.note_use(m, [owner], frame.place(node))
        return m.tensor(owner.device, frame.place(node), owner.kind, ndim)
    return owner.alias(ndim=ndim)


def _judge_index(
    m: Machine, owner: Tensor, index: Value, node: ast.AST, frame: Frame, *, writing: bool
) -> bool:
    """Emit what an index does to a capture; True for an index that copies."""
    advanced = False
    for part in parts_of(index):
        for one in alternatives(part):
            advanced = _judge_part(m, owner, one, node, frame, writing=writing) or advanced
    return advanced


def _judge_part(
    m: Machine, owner: Tensor, part: Value, node: ast.AST, frame: Frame, *, writing: bool
) -> bool:
    name = "Tensor.__setitem__" if writing else "Tensor.__getitem__"
    if isinstance(part, SliceValue):
        for bound in part.bounds:
            tensor_index_bound(m, bound, node, frame)
        return False
    if isinstance(part, Tensor) and owner.on_device:
        if part.kind == "bool" and not writing:
            tensor_ops.effect(m, node, name, "dynamic-shape", (owner, part), frame, how="mask")
        elif part.device == "cpu" and part.ndim != 0:
            tensor_ops.effect(m, node, name, "host-data", (owner, part), frame, how="cpu index")
        return True
    if isinstance(part, Sequence_) and part.kind == "list":
        if owner.on_device and not any(isinstance(item, Tensor) for item in part.elements()):
            tensor_ops.effect(m, node, name, "host-data", (owner,), frame, how="list index")
        return True
    tensor_ops.host_use(m, node, part, "index", frame)
    return isinstance(part, Tensor)


def tensor_index_bound(m: Machine, bound: Value, node: ast.AST, frame: Frame) -> None:
    tensor_index(m, bound, node, frame)
    if not isinstance(bound, Tensor):
        tensor_ops.host_use(m, node, bound, "slice", frame)


def _rank_after(owner: Tensor, index: Value) -> int | None:
    if owner.ndim is None:
        return None
    rank = owner.ndim
    for part in parts_of(index):
        if isinstance(part, Const) and part.value is None:
            rank += 1
        elif (isinstance(part, Const) and part.value is Ellipsis) or isinstance(part, SliceValue):
            continue
        elif isinstance(part, Tensor):
            rank += (part.ndim or 1) - 1
        elif isinstance(part, (Const, Host)):
            rank -= 1
        else:
            return None
    return max(rank, 0)


# writing


def put_item(m: Machine, owner: Value, index: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    """`owner[index] = value`."""
    for part in alternatives(owner):
        if isinstance(part, Tensor):
            _put_tensor(m, part, index, value, node, frame)
        elif isinstance(part, (Mapping, Sequence_)):
            set_item(m, part, index, value, frame.place(node))
        elif isinstance(part, Obj):
            _put_object(m, part, index, value, node, frame)


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


def _put_tensor(m: Machine, owner: Tensor, index: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    """Writing into a tensor keeps its memory; some indices and values need the host."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    _judge_index(m, owner, index, target, frame, writing=True)
    masked = any(isinstance(p, Tensor) and p.kind == "bool" for p in parts_of(index))
    if owner.on_device and masked and isinstance(value, Tensor) and value.ndim != 0:
        tensor_ops.effect(
            m, target, "Tensor.__setitem__", "dynamic-shape", (owner, value), frame, how="mask store"
        )
    if owner.on_device and _is_single_element(owner, index) and isinstance(value, (Const, Host)):
        tensor_ops.effect(
            m, target, "Tensor.__setitem__", "host-data", (owner, value), frame, how="element store"
        )
    elif isinstance(value, Tensor) and value.device == "cpu" and owner.on_device:
        tensor_ops.effect(
            m, target, "Tensor.__setitem__", "host-data", (owner, value), frame, how="cpu value"
        )
    if not isinstance(value, Tensor):
        tensor_ops.host_use(m, target, value, "fill", frame)
    attributes.wrote_tensor(m, owner, value, node, frame)


def _is_single_element(owner: Tensor, index: Value) -> bool:
    """Whether the index picks one element of a tensor of known rank (`x[0]` of a 1-D tensor)."""
    parts = parts_of(index)
    plain = all(isinstance(p, (Const, Host)) and not _is_special(p) for p in parts)
    return owner.ndim is not None and plain and len(parts) == owner.ndim


def _is_special(part: Value) -> bool:
    return isinstance(part, Const) and (part.value is None or part.value is Ellipsis)


def set_item(m: Machine, owner: Mapping | Sequence_, index: Value, value: Value, place: Place | None) -> None:
    """Store into a container; outside a capture an output alias kept this way is remembered."""
    attributes.note_kept(m, value, place)
    captures.note_keyed(m, value, index)
    if isinstance(owner, Mapping):
        identity = identity_of(index)
        if identity is not None:
            _put(m, owner, identity, index, value, place)
            return
        old = owner.fields.get(Mapping.REST)
        joined = value if old is None else join(old[1], value)
        m.heap.write(owner.fields, Mapping.REST, (index, joined))
        return
    items = list(owner.items)
    if isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items):
        items[index.value] = value
        m.heap.write(owner.fields, "items", tuple(items))
    else:
        rest = owner.rest
        m.heap.write(owner.fields, "rest", value if rest is None else join(rest, value))


def _put(
    m: Machine, owner: Mapping, identity: object, index: Value, value: Value, place: Place | None
) -> None:
    m.heap.write(owner.fields, identity, (index, value))
    if place is not None:
        m.log_write(owner.fields, identity, value, place)


def extend(
    m: Machine, owner: Sequence_, known: tuple[Value, ...], rest: Value | None, node: ast.AST, frame: Frame
) -> None:
    """Append elements to a list; a long list is kept as its first elements and a join of the others."""
    place = frame.place(node)
    for value in known:
        attributes.note_kept(m, value, place)
        captures.note_keyed(m, value, None)
    items = (*owner.items, *known)
    if len(items) > 32:
        joined = join_all([*items[32:], *([owner.rest] if owner.rest is not None else [])])
        m.heap.write(owner.fields, "rest", joined)
        items = items[:32]
    m.heap.write(owner.fields, "items", items)
    if rest is not None:
        attributes.note_kept(m, rest, place)
        m.heap.write(owner.fields, "rest", rest if owner.rest is None else join(owner.rest, rest))
    m.log_write(owner.fields, "items", owner, place)


def delete_item(m: Machine, owner: Value, index: Value, node: ast.AST, frame: Frame) -> None:
    """`del owner[index]`."""
    if isinstance(owner, Mapping):
        identity = identity_of(index)
        if identity in owner.fields:
            m.heap.write(owner.fields, identity, (index, NONE))
