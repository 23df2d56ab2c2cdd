"""`nn.ModuleList`, `ModuleDict`, `Sequential` and classes derived from them: their children in order."""

from __future__ import annotations

from collections.abc import Iterable

from graphlint.analysis import calls, elements
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.libraries.registry import MODELS, Call, model
from graphlint.analysis.values import Mapping, Obj, Sequence_, Unknown, Value, alternatives

LISTS = ("torch.nn.ModuleList", "torch.nn.ParameterList", "torch.nn.Sequential")
DICTS = ("torch.nn.ModuleDict", "torch.nn.ParameterDict")
_LIST_METHODS = ("append", "extend", "insert", "pop", "__len__")
_DICT_METHODS = ("keys", "values", "items", "update", "pop", "get", "clear")


def kind_of(owner: Obj) -> str | None:
    """The container class that an object is an instance of, None when it is none."""
    known = LISTS + DICTS
    if isinstance(owner.cls, ClassInfo):
        return next((name for name in owner.cls.externals() if name in known), None)
    return owner.cls if owner.cls in known else None


def fill(call: Call, owner: Obj, kind: str) -> None:
    """Keep the children that a container is made with."""
    call.m.heap.write(owner.fields, "elements", _mapping(call) if kind in DICTS else _children(call))


def _mapping(call: Call) -> Mapping:
    held = call.get(0, "modules")
    if isinstance(held, Mapping):
        copy = Mapping(call.place)
        copy.fields.update(held.fields)
        return copy
    return Mapping(call.place)


def _children(call: Call) -> Sequence_:
    """The modules of a container, given as a list, by name or one by one."""
    if len(call.args) == 1 and isinstance(call.args[0], Mapping):
        return Sequence_([value for _, value in call.args[0].entries()], "list")
    if len(call.args) == 1 and not (isinstance(call.args[0], Obj) and call.args[0].cls != "generator"):
        known, rest = elements.of(call.m, call.args[0])
        return Sequence_(known, "list", rest)
    return Sequence_(call.args, "list", call.arguments.more)


@model(*[f"{name}.{method}" for name in LISTS for method in _LIST_METHODS])
def _list_method(call: Call) -> Value:
    return _delegated(call, "list")


@model(*[f"{name}.{method}" for name in DICTS for method in _DICT_METHODS])
def _dict_method(call: Call) -> Value:
    return _delegated(call, "dict")


def _delegated(call: Call, kind: str) -> Value:
    held = call.owner.fields.get("elements") if isinstance(call.owner, Obj) else None
    found = MODELS.get(f"builtins.{kind}.{call.name.rpartition('.')[2]}")
    if not isinstance(held, Value) or found is None:
        return Unknown(call.name)
    result = found(Call(call.m, call.name, held, call.arguments, call.place, call.frame))
    return call.owner if call.name.endswith(("append", "extend")) and call.owner is not None else result


def run_in_order(call: Call, owner: Obj) -> Value:
    """Call a `Sequential`: each child is given what the one before it gave."""
    held = owner.fields.get("elements")
    value: Value = call.args[0] if call.args else Unknown("input")
    for child in elements.all_elements(call.m, held) if isinstance(held, Value) else ():
        value = calls.call(call.m, child, Arguments([value]), call.node, call.frame, call.place)
    return value


def modules_in(owner: Obj) -> list[Obj]:
    """The modules that are fields of a module, or in containers that are."""
    found: list[Obj] = []
    for value in owner.fields.values():
        if type(value) is Obj and not (isinstance(value.cls, str) and not value.cls.startswith("torch.nn.")):
            found.append(value)
        elif type(value) is Sequence_:
            found += _objects(value.elements())
        elif type(value) is Mapping:
            found += _objects(part for _, part in value.entries())
    return found


def _objects(values: Iterable[Value]) -> list[Obj]:
    return [part for value in values for part in alternatives(value) if type(part) is Obj]


def all_modules_in(owner: Obj, most: int = 12) -> list[Obj]:
    """A module and those within it at any depth, the outer ones first."""
    found = [owner]
    for module in found:
        if len(found) < most:
            found += [child for child in modules_in(module) if child not in found]
    return found[:most]
