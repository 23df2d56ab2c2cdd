"""Arguments that a call which replays does not look at: its graph was captured with those of another call.

`if self.graph is None: self.graph = record(x)` and then `self.graph.replay()`: every call computes from the
first call's `x`. Where callers promise to bring the same memory again, they bring the same memory.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis.events import InputIgnored
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Tensor, Value

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note_touched(m: Machine, *values: Value) -> None:
    """Eager code does something with tensors: copies them, computes from them, gives them away."""
    if not m.captures:
        for value in values:
            for tensor in tensors_in(value, 2):
                m.touched[tensor.storage] = m.steps


def replayed(m: Machine, record: Capture, place: Place) -> None:
    """A graph is replayed: look at the arguments of the calls in progress that had captured it before."""
    for frame in m.frames:
        then = _frame_at_capture(record, frame)
        for name in _parameters(frame) if then is not None else ():
            assert then is not None
            if _is_ignored(m, record, frame, then.env.fields.get(name), frame.env.fields.get(name)):
                m.emit(InputIgnored(place=place, name=name, capture=record, captured=record.place))


def _frame_at_capture(record: Capture, frame: Frame) -> Frame | None:
    """An earlier call of the same function, in which the graph was captured."""
    if frame.function is None or any(each is frame for each in record.facts["frames"]):
        return None
    same = (
        f for f in record.facts["frames"] if f.function is not None and f.function.node is frame.function.node
    )
    return next(same, None)


def _parameters(frame: Frame) -> Iterator[str]:
    assert frame.function is not None
    arguments = frame.function.node.args
    return (arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def _is_ignored(m: Machine, record: Capture, frame: Frame, then: object, given: object) -> bool:
    if not isinstance(then, Tensor) or not isinstance(given, Tensor) or then.storage is given.storage:
        return False
    is_read = then.storage in record.storages and not given.parameter
    written = m.refilled.get(then.storage, -1) >= record.clock
    since = frame.began
    if _is_made(given):  # what a new capture of this call has done with it is not done when it is not made
        since = max([since, *(other.facts.get("ended", 0) for other in _captured_here(m, record, frame))])
    return is_read and not written and m.touched.get(given.storage, -1) < since


def _is_made(given: Tensor) -> bool:
    """Whether the program makes this memory: callers whose code is not seen may bring the same again."""
    site = given.storage.site
    return site is not None and not isinstance(site.node, ast.arg)


def _captured_here(m: Machine, record: Capture, frame: Frame) -> Iterator[Capture]:
    """Other captures that were made in a call which now goes on to replay this one, in an arm not taken."""
    for other in m.finished:
        if other is not record and other.lazy and any(each is frame for each in other.facts["frames"]):
            yield other
