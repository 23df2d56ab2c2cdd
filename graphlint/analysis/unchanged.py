"""What cannot have changed between a capture and a replay that are both made within one call of a function.

The replay may be in a later turn of a loop than the capture: then the names of that loop's function stand for
something new, but for its parameters, and those of the functions that have called it do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import own_text, signatures, tensor_ops
from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture
from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import Host, Unknown, Value, alternatives
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def is_same_turn(m: Machine, record: Capture) -> bool:
    """Whether the call that made a capture goes on, and no loop of it or around it has turned since."""
    capturing = record.facts["frames"][-1]
    if not any(frame is capturing for frame in m.frames):
        return False
    return {(id(loop), loop.iteration) for frame in m.frames for loop in frame.loops} == {
        (id(loop), iteration) for loop, iteration in record.loops
    }


def is_argument(m: Machine, record: Capture, value: Value) -> bool:
    """Whether a number is, or was computed from, what calls were given that go on since the capture."""
    frames = [frame for frame in record.facts["frames"] if any(frame is each for each in m.frames)]
    names = {identity_of(part) for frame in frames for part in _parts(_given(record, frame))}
    return tensor_ops.is_key(names, value)


def _given(record: Capture, frame: Frame) -> Iterator[Value]:
    """What the names of a call hold since the capture: those that no loop which has gone on since has bound.

    Of a `while` loop only its test is known: then it is the parameters.
    """
    if frame.function is None:
        return
    at_capture = {id(loop): iteration for loop, iteration in record.loops}
    turned = [loop.place.node for loop in frame.loops if at_capture.get(id(loop)) != loop.iteration]
    bound = frozenset[str]().union(*map(own_text.names_bound, turned))
    names = {arg.arg for arg in signatures.named(frame.function.node.args)}
    if not any(isinstance(loop, ast.expr) for loop in turned):
        names = frame.env.fields.keys() - bound
    for name in names:
        held = frame.env.fields.get(name)
        if isinstance(held, Value):
            yield held


def _parts(values: Iterator[Value]) -> Iterator[Value]:
    return (part for value in values for part in alternatives(value) if isinstance(part, (Host, Unknown)))
