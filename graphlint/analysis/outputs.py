"""Aliases of a graph's outputs: which replay they were taken after, and which reads of them are stale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import (
    effects,
    extents,
)
from graphlint.analysis.events import PoolOverwritten, StaleRead
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    Mapping,
    Obj,
    Sequence_,
    Storage,
    Tensor,
    Union,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@dataclass(slots=True)
class Epoch:
    """What one function has read of one output since the last replay."""

    stamp: int
    fresh: bool = False
    undecided: list[StaleRead] = field(default_factory=list)


def stamped(m: Machine, value: Tensor, place: Place) -> Tensor:
    """What reading an output from a name or field yields: an alias that knows after which replay."""
    graph = value.storage.graph
    assert graph is not None
    if m.capture is not None and m.capture.graph is graph:
        return value
    stamp = graph.fields.get("stamp", 0)
    if value.stamp != 0 or not stamp:
        check(m, value, place)
        return value
    fresh = value.alias(ndim=value.ndim)
    fresh.stamp, fresh.taken = stamp, place
    if not _is_above_the_replay(graph, place):
        epoch = _epoch(m, value, stamp, place)
        epoch.fresh = True
        for event in epoch.undecided:
            m.emit(event)
        epoch.undecided.clear()
    return fresh


def refreshed(m: Machine, value: Value, place: Place, depth: int = 4) -> Value:
    """What reading `value` from a name or field yields: outputs are stamped with the replay count.

    Containers are followed to `depth`: one may hold itself.
    """
    if not m.has_graphs:
        return value
    if type(value) is Tensor:
        return value if value.storage.graph is None else stamped(m, value, place)
    if not depth:
        return value
    if type(value) is Union and _holds_output(value.values):
        return Union(tuple(refreshed(m, p, place, depth - 1) for p in value.values), value.chosen_by)
    if type(value) is Sequence_ and _holds_output(value.items):
        items = [refreshed(m, item, place, depth - 1) for item in value.items]
        fresh = Sequence_(items, value.kind, value.rest, value.change, value.site)
        effects.note_copy(m, value, fresh)
        return fresh
    if type(value) is Mapping and _holds_output(part for _, part in value.entries()):
        copy = Mapping(value.site)
        for key, (name, part) in value.fields.items():
            copy.fields[key] = (name, refreshed(m, part, place, depth - 1))
        return copy
    if type(value) is Obj and not isinstance(value.cls, str) and value.cls.is_plain_record:
        return _record_of_outputs(m, value, place, depth)
    return value


def may_be_of(value: Value) -> bool:
    """Whether reading a value from a local name may depend on the replays so far: most are other objects."""
    if type(value) is Obj:
        return not isinstance(value.cls, str) and value.cls.is_plain_record
    return type(value) is Tensor or type(value) is Sequence_ or type(value) is Mapping


def _record_of_outputs(m: Machine, value: Obj, place: Place, depth: int) -> Obj:
    """A record whose fields are outputs is read like a tuple of them: one for each replay.

    One that holds the graph as well is no result of a replay: its outputs are read on demand.
    """
    parts = [part for part in value.fields.values() if isinstance(part, Value)]
    if m.captures or not _holds_output(parts) or any(map(_may_be_graph, parts)):
        return value
    copy = Obj(value.cls, value.site, value.label)
    for name, part in value.fields.items():
        copy.fields[name] = refreshed(m, part, place, depth - 1) if isinstance(part, Value) else part
    return copy


def check_all(m: Machine, values: list[Tensor], place: Place) -> None:
    """Tell of what one operation reads of outputs that were overwritten since they were taken."""
    for value in values:
        check_stale(m, value, place)
    if len(values) > 1:
        _check_collected(m, values, place)


def check_stale(m: Machine, value: Tensor, place: Place) -> None:
    """Tell of a read through an alias that was taken before the graph's last replay."""
    check(m, value, place)
    check_pool(m, value, place)


def _may_be_graph(value: Value) -> bool:
    return any(type(part) is Obj and part.is_a("torch.cuda.CUDAGraph") for part in alternatives(value))


def _holds_output(values: Iterable[Value]) -> bool:
    """Whether a container directly holds a replayed graph's output that is not stamped yet."""
    for value in (part for each in values for part in alternatives(each)):
        if type(value) is Tensor and value.storage.graph is not None and value.stamp == 0:
            return bool(value.storage.graph.fields.get("stamp", 0))
    return False


def as_of_now(value: Value) -> Value:
    """What a call gave earlier, given by one not followed again: outputs are those of the last replay."""
    if type(value) is Sequence_ and value.kind == "tuple" and value.rest is None:
        return Sequence_(map(as_of_now, value.items), "tuple", None, value.change, value.site)
    if type(value) is Union:
        return Union(tuple(as_of_now(part) for part in value.values))
    if type(value) is not Tensor or value.kept is not None or not is_behind(value):
        return value  # what is kept somewhere stays what it was
    fresh, graph = value.alias(ndim=value.ndim), value.storage.graph
    fresh.stamp = graph.fields.get("stamp", 0) if graph is not None else 0
    return fresh


def is_behind(value: Tensor) -> bool:
    """Whether an alias was taken before the graph's last replay."""
    graph = value.storage.graph
    return graph is not None and 0 < value.stamp < graph.fields.get("stamp", 0)


def check(m: Machine, value: Tensor, place: Place) -> None:
    """Tell of a read through an alias that was taken before the graph's last replay.

    `y = self.y; graph.replay(); use(y)` picks the output up beforehand and means the new one. Such an alias
    is stale only when the same function also reads the output afresh, so that it means two generations.
    """
    graph = value.storage.graph
    if graph is None or not is_behind(value):
        return
    stamp = graph.fields["stamp"]
    event = StaleRead(
        place=place, tensor=value, graph=graph, taken=value.taken or place, kept=value.kept or value.received
    )
    epoch = _epoch(m, value, stamp, place)
    taken_for_it = value.kept is None and _is_above_the_replay(graph, event.taken)
    if taken_for_it and not epoch.fresh:
        epoch.undecided.append(event)
    else:
        m.emit(event)


def collected(m: Machine, value: Value, place: Place) -> Value:
    """What a list is given: memory of the program that a graph fills is marked with the replay it is of.

    Rows that are picked out of it are kept beside each other on purpose.
    """
    if m.captures or type(value) is not Tensor or value.storage.graph is not None:
        return value
    filling = [each.graph for each in m.finished if value.storage in each.filled and each.graph is not None]
    replays = sum(graph.fields.get("stamp", 0) for graph in filling)
    if not replays or not extents.is_from_start(value):
        return value
    marked = value.alias(ndim=value.ndim)
    marked.stamp, marked.taken, marked.kept = replays, place, place
    return marked


def _check_collected(m: Machine, values: Iterable[Tensor], place: Place) -> None:
    """Tell of a read of several results at once that are one memory, which a graph has filled in between."""
    first: dict[Storage, Tensor] = {}
    for value in values:
        if value.kept is None or value.storage.graph is not None or not value.stamp:
            continue
        earlier = first.setdefault(value.storage, value)
        if earlier.stamp != value.stamp:
            kept = earlier.kept
            m.emit(StaleRead(place=place, tensor=earlier, graph=None, taken=value.kept, kept=kept))


def check_pool(m: Machine, value: Tensor, place: Place) -> None:
    """Tell of a read of an output that a replay of another graph of its pool may have overwritten."""
    graph = value.storage.graph
    mark = graph.fields.get("overwritten") if graph is not None else None
    if graph is None or not isinstance(mark, tuple) or not 0 < value.stamp == graph.fields.get("stamp"):
        return
    stamp, step, replayed = mark
    if stamp == value.stamp and step == m.step:
        m.emit(PoolOverwritten(place=place, tensor=value, graph=graph, replayed=replayed))


def note_received(m: Machine, value: Value, frame: Frame) -> None:
    """A function returns outputs: whoever calls it has them from the call on.

    One that has not replayed their graph only looks them up, as the caller might have done itself.
    """
    call = frame.call
    if m.captures or call is None or not isinstance(call.node, ast.Call):
        return
    for tensor in tensors_in(value, 2):
        graph = tensor.storage.graph
        if tensor.stamp and graph is not None:
            if graph.fields.get("replayed at", frame.began) < frame.began:
                tensor.taken = call
            else:
                tensor.received = call


def _epoch(m: Machine, value: Tensor, stamp: int, place: Place) -> Epoch:
    key = ("epoch", value.storage.serial, place.function)
    epoch = m.memo.get(key)
    if not isinstance(epoch, Epoch) or epoch.stamp != stamp:
        epoch = m.memo[key] = Epoch(stamp)
    return epoch


def _is_above_the_replay(graph: Obj, taken: Place) -> bool:
    """Whether a place is in a function that led to the last replay, above it: it is for the next replay.

    Arguments of the call that led there are above it as well.
    """
    own, *calls = graph.fields.get("replayed", (None,))
    if own is not None and _is_same_function(taken, own):
        return bool(taken.line < own.line)
    return any(_is_same_function(taken, call) and taken.line <= call.line for call in calls)


def _is_same_function(one: Place, other: Place) -> bool:
    return one.module is other.module and one.function == other.function
