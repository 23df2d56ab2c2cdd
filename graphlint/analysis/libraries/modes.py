"""Training and evaluation mode: layers that behave differently, and what switches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import attributes, cells, tensor_ops
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries import module_containers
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.values import MODE, NONE, TRUE, Change, Const, Host, Obj, Value
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def mode_of(m: Machine, owner: Obj, place: Place) -> Value:
    """`module.training` where nobody has set it: what it decides is not known, but the capture read it."""
    mode = Host("bool", Change.CONFIG, (MODE, owner.serial))
    return cells.tainted(m, owner.fields, MODE, mode, place, owner, MODE)


def note(m: Machine, owner: Obj, place: Place, frame: Frame) -> None:
    """Captured code runs a library module: the mode of one that has two becomes part of the graph."""
    if not m.captures:
        return
    last = str(owner.cls).rpartition(".")[2]
    if last.startswith(operations.beginnings("mode_dependent_modules")):
        with m.heap.aside():
            owner.fields.setdefault(MODE, TRUE)
    elif last != "Module" or MODE not in owner.fields:
        return
    mode = attributes.read_field(m, owner, MODE, place)
    tensor_ops.host_use(m, place.node, mode, "mode", frame)


def switch(call: Call) -> Value:
    """`.train()` and `.eval()` switch a module and everything in it."""
    if isinstance(call.owner, Obj):
        training = call.name.endswith("train") and call.flag(0, "mode") is not False
        _set(call.m, call.owner, Const(training), call.place, set())
        call.m.emit(Called(place=call.place, what="module-mode", target=call.owner, data=training))
    return call.owner or NONE


def _set(m: Machine, owner: Obj, mode: Const, place: Place, seen: set[int]) -> None:
    seen.add(owner.serial)
    cells.write(m, owner.fields, MODE, mode, place)
    for child in module_containers.modules_in(owner):
        if child.serial not in seen:
            _set(m, child, mode, place, seen)
