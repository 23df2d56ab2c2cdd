"""`copy.copy` and `copy.deepcopy`: another object, with the same things in it or with copies of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import attributes
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import COPY, Mapping, Obj, Sequence_, Tensor, Unknown, Value

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

DEPTH = 8


@model("copy.deepcopy")
def _deepcopy(call: Call) -> Value:
    return deep_copy(call.m, call.get(0, "x") or Unknown("copy"), call.place)


def deep_copy(m: Machine, value: Value, place: Place) -> Value:
    """A copy of a value with copies of everything in it."""
    return _copied(m, value, place, {}, DEPTH)


@model("copy.copy")
def _copy(call: Call) -> Value:
    value = call.get(0, "x") or Unknown("copy")
    if isinstance(value, Tensor):
        return value.alias(ndim=value.ndim)
    if isinstance(value, Sequence_):
        return Sequence_(value.items, value.kind, value.rest, value.change, call.place)
    if isinstance(value, Mapping):
        shallow = Mapping(call.place, value.factory)
        shallow.fields.update(value.fields)
        return shallow
    if isinstance(value, Obj) and not isinstance(value.cls, str):
        return _copied_object(call.m, value, call.place, {}, 1)
    return value


def _copied(m: Machine, value: Value, place: Place, seen: dict[int, Value], depth: int) -> Value:
    """The copy of a value; what was met before is copied once, what is unknown stays as it is."""
    if id(value) in seen or not depth:
        return seen.get(id(value), value)
    if isinstance(value, Tensor):
        return seen.setdefault(id(value), _copied_tensor(m, value, place))
    if isinstance(value, Sequence_):
        items = [_copied(m, item, place, seen, depth - 1) for item in value.items]
        rest = _copied(m, value.rest, place, seen, depth - 1) if value.rest is not None else None
        return seen.setdefault(id(value), Sequence_(items, value.kind, rest, value.change, place))
    if isinstance(value, Mapping):
        made = Mapping(place, value.factory)
        seen[id(value)] = made
        for identity, entry in value.fields.items():
            if entry is not None:
                made.fields[identity] = (entry[0], _copied(m, entry[1], place, seen, depth - 1))
        return made
    if isinstance(value, Obj) and (not isinstance(value.cls, str) or value.cls.startswith("torch.nn.")):
        return _copied_object(m, value, place, seen, depth)
    return value


def _copied_tensor(m: Machine, value: Tensor, place: Place) -> Tensor:
    made = m.tensor(value.device, place, value.kind, value.ndim, value.shape)
    made.parameter = value.parameter
    made.storage.owner = value.storage.owner
    return made


def _copied_object(m: Machine, value: Obj, place: Place, seen: dict[int, Value], depth: int) -> Obj:
    if "?pending" in value.fields:
        attributes.get(m, value, "__class__", place.node, m.frame)
    made = Obj(value.cls, place, COPY if isinstance(value.cls, str) else value.label)
    seen[id(value)] = made
    for name, held in list(value.fields.items()):
        made.fields[name] = _copied(m, held, place, seen, depth - 1) if isinstance(held, Value) else held
    return made
