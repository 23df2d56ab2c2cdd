"""Learning rate schedulers: each step writes into the parameter groups of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import elements, item_writes, tensor_ops
from graphlint.analysis.events import SideEffect
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Change, Const, Host, Mapping, Obj, Unknown, Value, alternatives
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

BASE = "torch.optim.lr_scheduler.LRScheduler"
RATE = Const("lr")


@model(
    *[f"torch.optim.lr_scheduler.{name}" for name in operations.listed("schedulers")],
    *operations.listed("other_schedulers"),
)
def _scheduler(call: Call) -> Value:
    made = Obj(BASE, call.place)
    optimizer = call.get(0, "optimizer")
    if optimizer is not None:
        made.fields["optimizer"] = optimizer
    return made


@model(*[f"torch.optim.lr_scheduler.{name}.__init__" for name in operations.listed("schedulers")])
def _initialise(call: Call) -> Value:
    """A project's own scheduler hands its optimizer to the base class."""
    optimizer = call.get(0, "optimizer")
    if optimizer is not None and isinstance(call.owner, Obj):
        call.owner.fields["optimizer"] = optimizer
    return NONE


@model(f"{BASE}.step")
def _step(call: Call) -> Value:
    if call.m.captures:
        call.m.emit(SideEffect(place=call.place, name="schedule", read=None, reason="schedule"))
    for optimizer in _optimizers(call.m, call.owner or NONE):
        groups, rest = elements.of(call.m, optimizer.fields["param_groups"])
        for group in (*groups, rest):
            if isinstance(group, Mapping):
                _schedule(call.m, group, call.place)
    return NONE


@model(f"{BASE}.get_last_lr")
def _last(call: Call) -> Value:
    return Unknown("learning rates", Change.CHANGING)


def _optimizers(m: Machine, scheduler: Value, depth: int = 3) -> list[Obj]:
    """The optimizers of a scheduler; one made of schedulers has those of its parts."""
    found = []
    for part in alternatives(scheduler):
        if isinstance(part, Obj) and "param_groups" in part.fields:
            found.append(part)
        elif isinstance(part, Obj) and depth and isinstance(part.fields.get("optimizer"), Value):
            found += _optimizers(m, part.fields["optimizer"], depth - 1)
        elif not isinstance(part, Obj) and depth:
            known, _ = elements.of(m, part)
            found += [one for element in known[:1] for one in _optimizers(m, element, depth - 1)]
    return found


def _schedule(m: Machine, group: Mapping, place: Place) -> None:
    """A tensor rate is filled in place; a number is replaced by the next one."""
    rate = group.fields.get(("const", "lr"), (RATE, NONE))[1]
    if not tensor_ops.any_tensor(rate) and not isinstance(rate, Unknown):
        item_writes.set_item(m, group, RATE, Host("float", Change.CHANGING), place)
