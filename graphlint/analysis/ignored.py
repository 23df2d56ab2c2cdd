"""Arguments that a call which replays does not look at: its graph was captured with those of another call.

`if self.graph is None: self.graph = record(x)` and then `self.graph.replay()`: every call computes from the
first call's `x`. Where callers promise to bring the same memory again, they bring the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import carried, signatures, tensor_ops
from graphlint.analysis.events import InputIgnored
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Mapping, Sequence_, Storage, Tensor, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note_touched(m: Machine, *values: Value) -> None:
    """Eager code does something with tensors: copies them, computes from them, gives them away."""
    if not m.captures:
        for value in values:
            for tensor in tensors_in(value, 2):
                m.touched[tensor.storage] = m.steps


def replayed(m: Machine, record: Capture, place: Place) -> None:
    """A graph is replayed: look at the arguments of the calls in progress that had captured it before.

    Where the key of the graph changes with the calls and is not known, it may be made of what they are given.
    """
    if record.graph is not None and record.graph.fields.get("open key"):
        return
    for frame in m.frames:
        then = frame_at_capture(record, frame)
        for name in _parameters(frame) if then is not None else ():
            assert then is not None
            pairs = _pairs(m, then.env.fields.get(name), frame.env.fields.get(name))
            if any(_is_ignored(m, record, frame, *pair) for pair in pairs):
                m.emit(InputIgnored(place=place, name=name, capture=record, captured=record.place))


def frame_at_capture(record: Capture, frame: Frame) -> Frame | None:
    """An earlier call of the same function, in which the graph was captured."""
    if frame.function is None or any(each is frame for each in record.facts["frames"]):
        return None
    same = (
        f for f in record.facts["frames"] if f.function is not None and f.function.node is frame.function.node
    )
    return next(same, None)


def _parameters(frame: Frame) -> Iterator[str]:
    assert frame.function is not None
    return (arg.arg for arg in signatures.named(frame.function.node.args))


def _pairs(m: Machine, then: object, given: object) -> Iterator[tuple[Tensor, Tensor]]:
    """The tensors of an argument beside those of the same argument now, one by one in a batch of several."""
    if (
        isinstance(then, Unknown)
        and tensor_ops.moved_tensor(m, then) is not None
        and isinstance(given, Unknown)
    ):
        then, given = tensor_ops.as_operand(m, then), tensor_ops.as_operand(m, given)
    if isinstance(then, Tensor) and isinstance(given, Tensor):
        yield then, given
    elif isinstance(then, Sequence_) and isinstance(given, Sequence_):
        if then.rest is None and given.rest is None and len(then.items) == len(given.items):
            for pair in zip(then.items, given.items, strict=True):
                yield from _pairs(m, *pair)
    elif isinstance(then, Mapping) and isinstance(given, Mapping):
        for key in then.fields.keys() & given.fields.keys() - {Mapping.REST}:
            held, now = then.fields[key], given.fields[key]
            if held is not None and now is not None:
                yield from _pairs(m, held[1], now[1])


def _is_ignored(m: Machine, record: Capture, frame: Frame, then: Tensor, given: Tensor) -> bool:
    if then.storage is given.storage:
        return False
    copied = _is_copied_once(m, record, then)
    is_read = (copied or then.storage in record.storages) and not given.parameter
    written = carried.is_refilled(m, record, then.storage)
    since = frame.began
    # What a new capture of this call has done with it is not done when it is not made.
    if copied or _is_made(given):
        since = max([since, *(other.facts.get("ended", 0) for other in _captured_here(m, record, frame))])
    return is_read and not written and m.touched.get(given.storage, -1) < since


def _is_copied_once(m: Machine, record: Capture, then: Tensor) -> bool:
    """Whether a graph reads a copy of the argument, made for its capture, which nobody writes again."""
    copies = (each for each in record.storages if then.storage in each.sources and _is_copy(each))
    return any(each not in record.filled and not carried.is_refilled(m, record, each) for each in copies)


def _is_copy(storage: Storage) -> bool:
    node = storage.site.node if storage.site is not None else None
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in operations.listed("same_state")


def _is_made(given: Tensor) -> bool:
    """Whether the program makes this memory: callers whose code is not seen may bring the same again."""
    site = given.storage.site
    return site is not None and not isinstance(site.node, ast.arg)


def _captured_here(m: Machine, record: Capture, frame: Frame) -> Iterator[Capture]:
    """Other captures that were made in a call which now goes on to replay this one, in an arm not taken."""
    for other in m.finished:
        instead = other.lazy or other.place.key == record.place.key
        if other is not record and instead and any(each is frame for each in other.facts["frames"]):
            yield other
