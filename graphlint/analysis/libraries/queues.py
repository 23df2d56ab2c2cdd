"""Queues between threads: what is put in comes out in order, an output of a graph too."""

from __future__ import annotations

from graphlint.analysis import handed, item_writes
from graphlint.analysis.events import Called
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Obj, Sequence_, Unknown, Value
from graphlint.rules import operations


def _waiting(call: Call) -> Sequence_ | None:
    """The elements that are in a queue now."""
    if not isinstance(call.owner, Obj):
        return None
    held = call.owner.fields.get("waiting")
    if not isinstance(held, Sequence_):
        held = Sequence_((), "list", site=call.place)
        call.m.heap.write(call.owner.fields, "waiting", held)
    return held


@model(*[f"{name}.{method}" for name in operations.listed("queues") for method in ("put", "put_nowait")])
def _put(call: Call) -> Value:
    held = _waiting(call)
    if held is not None and call.args:
        item_writes.extend(call.m, held, (call.args[0],), None, call.node, call.frame)
        handed.give(call.m, call.args[0], call.place, held)
    return NONE


@model(*[f"{name}.{method}" for name in operations.listed("queues") for method in ("get", "get_nowait")])
def _get(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="thread-wait", target=call.owner or Unknown("queue")))
    handed.waited(call.m)
    held = _waiting(call)
    if held is None or not held.items:
        return Unknown("result of another thread")
    first, *others = held.items
    call.m.heap.write(held.fields, "items", tuple(others))
    return first


@model(*[f"{name}.join" for name in operations.listed("queues")])
def _join(call: Call) -> Value:
    """Waits until everything that was put in is done with."""
    call.m.emit(Called(place=call.place, what="thread-wait", target=call.owner or Unknown("queue")))
    handed.waited(call.m)
    return NONE
