"""Setting attributes: what a write to an object, module, class or tensor means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    calls,
    carried,
    cells,
    effects,
    first_calls,
    gradients,
    graph_keys,
    host_work,
    ignored,
    late_changes,
    lazies,
    library,
    lifetimes,
    parallel,
    refills,
    settled,
    synthesis,
    tensor_ops,
    timeline,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import Advance, Called, Stored
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.parts import tensors_in, tensors_of_record
from graphlint.analysis.values import (
    NONE,
    Class,
    Const,
    External,
    Fields,
    Function,
    Module,
    Obj,
    Tensor,
    Union,
    Unknown,
    Value,
    is_none,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

DELETED = "deleted"
"""The reason of the unknown value that a deleted name has."""


def put(
    m: Machine, owner: Value, name: str, value: Value, node: ast.AST, frame: Frame, *, augmented: bool = False
) -> None:
    """`owner.name = value`."""
    place = frame.place(node)
    if type(owner) is Union:
        for part in owner.values:
            put(m, part, name, value, node, frame, augmented=augmented)
    elif type(owner) is Obj:
        if "?pending" in owner.fields:
            synthesis.initialise(m, owner)
        if _put_through_property(m, owner, name, value, place):
            return
        stored(m, owner, owner.fields, name, value, place, augmented=augmented)
        library.wrote_field(m, owner, name, value, place)
    elif type(owner) is Tensor:
        _put_tensor(m, owner, name, value, place)
    elif type(owner) is Module:
        stored(m, owner, m.env_of(owner.file).fields, name, value, place, augmented=augmented)
    elif type(owner) is Class:
        stored(m, owner, owner.info.values, name, value, place, augmented=augmented)
    elif type(owner) is Function:
        stored(m, owner, m.fields_of(owner), name, value, place, augmented=augmented)
    elif type(owner) is Unknown:
        lifetimes.note_escape(m, (value,))
        refills.note_lost(m, place)
        if name == "grad":
            _set_gradient(m, owner, value, place)
    elif type(owner) is External:
        library.wrote_external(m, owner, name, value, place)


def _put_through_property(m: Machine, owner: Obj, name: str, value: Value, place: Place) -> bool:
    """Run the setter of a property; False when `name` is a plain field."""
    found = owner.cls.find_setter(name) if isinstance(owner.cls, ClassInfo) else None
    if found is None:
        return False
    info, node = found
    setter = Function(node, info.module, info.env, f"{info.scope}.{name}", cls=info).bind(owner)
    calls.call(m, setter, Arguments([value]), place.node, m.frame, place)
    return True


def stored(
    m: Machine,
    owner: Value | None,
    fields: Fields,
    name: object,
    value: Value,
    place: Place,
    *,
    augmented: bool = False,
) -> None:
    """Write a cell that outlives the call: field, global, class attribute."""
    old = fields.get(name)
    note_kept(m, value, place)
    if type(owner) is Obj:
        graph_keys.note_held(m, owner, value)
    if m.captures:
        _announce_store(m, owner, fields, name, value, old, place, augmented)
    cells.write(m, fields, name, value, place, augmented=augmented)


def _announce_store(
    m: Machine,
    owner: Value | None,
    fields: Fields,
    name: object,
    value: Value,
    old: object,
    place: Place,
    augmented: bool,
) -> None:
    cell = (id(fields), name)
    before = old if isinstance(old, Value) else None
    m.emit(
        Stored(
            place=place, cell=cell, owner=owner, name=str(name), value=value, old=before, augmented=augmented
        )
    )
    lazies.note_filled(m, owner, fields, name, value, place)


def note_kept(m: Machine, value: Value, place: Place | None) -> None:
    """An output alias is kept in a place that outlives the statement."""
    if m.captures or place is None:
        return
    for tensor in tensors_of_record(value, 2):
        if tensor.stamp and tensor.kept is None:
            tensor.kept = place


def _put_tensor(m: Machine, owner: Tensor, name: str, value: Value, place: Place) -> None:
    if name == "data" and isinstance(value, (Tensor, Unknown)):
        if not (isinstance(value, Tensor) and value.storage is owner.storage):
            owner.storage.replaced[place.key] = (place, m.clock)
            m.emit(Called(place=place, what="set-data", target=owner, arguments=(value,)))
            library.note_replaced(m, owner, place)
    elif name == "requires_grad":
        note_gradients_wanted(m, [owner], value, place)
    elif name == "grad":
        _set_gradient(m, owner, value, place)
        library.note_grad(m, owner, value, place)
    elif not library.is_tensor_method(name):
        stored(m, owner, m.tensor_fields.setdefault(id(owner), (owner, {}))[1], name, value, place)


def _set_gradient(m: Machine, owner: Value, value: Value, place: Place) -> None:
    announce_gradients(m, "set-grad", place, owner, value)
    gradients.note_replaced(m, dropped=is_none(value))


def announce_gradients(
    m: Machine, what: str, place: Place, target: Value, *arguments: Value, data: object = None
) -> None:
    """Gradients are set or cleared: rules hear under which tests."""
    way = settled.way(m)
    m.emit(Called(place=place, what=what, target=target, arguments=arguments, data=data, way=way))


def note_gradients_wanted(m: Machine, tensors: list[Tensor], wanted: Value | None, place: Place) -> None:
    """`requires_grad` is set: a graph goes on training what is frozen, and leaving out what is no longer."""
    frozen = isinstance(wanted, Const) and not wanted.value
    released = [] if frozen else gradients.frozen_among(m, tensors)
    gradients.note_frozen(m, tensors, frozen=frozen)
    if frozen:
        late_changes.note(m, late_changes.REQUIRES_GRAD, place, [each.storage for each in tensors])
    elif released:
        late_changes.note(m, late_changes.UNFROZEN, place, [each.storage for each in released])


def in_place(m: Machine, owner: Tensor, node: ast.AST, frame: Frame, operands: tuple[Value, ...]) -> None:
    """`t += x` and friends: the memory stays; a host operand is recorded."""
    for value in operands:
        if not tensor_ops.any_tensor(value):
            tensor_ops.host_use(m, node, value, "arithmetic", frame)
    tensor_ops.note_use(m, [owner, *tensor_ops.operands_of(*operands)], frame.place(node))
    wrote_tensor(m, owner, operands[0] if operands else NONE, node, frame, accumulates=True)


def wrote_tensor(
    m: Machine,
    owner: Tensor,
    value: Value,
    node: ast.AST,
    frame: Frame,
    *,
    waits: bool = True,
    accumulates: bool = False,
) -> None:
    """The memory of a tensor was written in place.

    The host waits for a copy between memories if `waits`; the old value is used if `accumulates`.
    """
    place = frame.place(node)
    owner.storage.version += 1
    if m.captures:
        timeline.captured(m, owner, value, place)
        m.captures[-1].filled.add(owner.storage)
        first_calls.note_write(m, owner, place, accumulates=accumulates)
        if accumulates:
            effects.note_advanced(m, owner, place)
        host_work.note(m, [*tensors_in(value), *([owner] if accumulates else [])], [owner], place)
    else:
        parallel.note_work(m, place) if owner.on_device else None
        timeline.wrote(m, owner, value, place, waits=waits)
        carried.note_refilled(m, owner)
        ignored.note_touched(m, value)
    data = (
        Advance(m.step, tuple(each.call for each in m.frames if each.call))
        if accumulates and not m.handling
        else None
    )
    m.emit(Called(place=place, what="tensor-write", target=owner, arguments=(value,), data=data))


def delete(m: Machine, owner: Value, name: str, node: ast.AST, frame: Frame) -> None:
    """`del owner.name`."""
    if isinstance(owner, Obj) and name in owner.fields:
        cells.write(m, owner.fields, name, Unknown(DELETED), frame.place(node))
