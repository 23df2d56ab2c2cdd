"""Streams inside a capture: which ones have joined it, where work escapes, and what nobody waits for.

Streams are told apart by where the program makes them. One that arrives as an argument has no such place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from graphlint.analysis.events import OutsideWait, StreamEscaped, StreamUnjoined
from graphlint.analysis.frames import Place
from graphlint.analysis.values import Obj, Value, alternatives
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine


FORKED_OF = "lists of streams of which some were forked"


def is_known(stream: Obj) -> bool:
    """Whether the program shows which stream this is."""
    return stream.label in ("own", "default", "capture")


def is_outside(m: Machine, capture: Capture, stream: Obj) -> bool:
    """Whether a stream that the capture has not seen fork is certainly not part of it.

    A stream that arrives as an argument is not the private stream of `torch.cuda.graph` either, but it may
    be another name for one that has forked.
    """
    if is_known(stream):
        return True
    return capture.stream is m.capture_stream and "given-stream-forked" not in capture.facts


def belongs(capture: Capture, stream: Obj) -> bool:
    """Whether a stream takes part in the capture."""
    return stream is capture.stream or stream.serial in capture.forked


def on_work(m: Machine, place: Place | None) -> None:
    """Work is issued to the current stream."""
    capture = m.capture
    if capture is None or capture.compiled or not m.streams or place is None:
        return
    stream = m.streams[-1]
    if stream is capture.stream:
        return
    if stream.serial in capture.forked:
        capture.pending[stream.serial] = m.entered.get(stream.serial, place)
        for merged in capture.merged.values():
            merged.discard(stream.serial)
    elif stream.serial not in capture.escaped and is_outside(m, capture, stream):
        where = m.entered.get(stream.serial, place)
        capture.escaped[stream.serial] = where
        m.emit(StreamEscaped(place=where, stream=stream))


@contextmanager
def on(m: Machine, stream: Obj | None) -> Iterator[None]:
    """Work is issued to this stream, where it is known, instead of the current one."""
    if stream is None or not m.streams:
        yield
        return
    current, m.streams[-1] = m.streams[-1], stream
    try:
        yield
    finally:
        m.streams[-1] = current


def not_followed(m: Machine) -> AbstractContextManager[None]:
    """Code that is not followed issues its work to the stream that captures, as far as anybody knows."""
    capture = m.capture
    return on(m, capture.stream if capture is not None and capture.kind == "begin_capture" else None)


def order(m: Machine, place: Place, later: Obj, earlier: Obj, *, recorded: bool = True) -> None:
    """`later` waits for `earlier`; `recorded` is False for an event from before the capture."""
    capture = m.capture
    if capture is None or capture.compiled:
        return
    outside = not belongs(capture, earlier) and is_outside(m, capture, earlier)
    if recorded and not outside:
        _join(capture, place, later, earlier)
        capture.facts.setdefault(FORKED_OF, set()).update(_gone_through(m))
    elif outside and belongs(capture, later) and earlier.serial not in capture.escaped:
        if not _gone_through(m) & capture.facts.get(FORKED_OF, set()):
            m.emit(OutsideWait(place=place, stream=earlier))


def _gone_through(m: Machine) -> set[str]:
    """What the innermost loop goes through: of streams in a list, those forked are those waited for."""
    node = m.frames[-1].loops[-1].place.node if m.frames and m.frames[-1].loops else None
    if not isinstance(node, ast.For):
        return set()
    return {ast.unparse(part) for part in ast.walk(node.iter) if isinstance(part, ast.Attribute)}


def order_after_unknown(m: Machine, place: Place, later: Obj) -> None:
    """`later` waits for a stream that could not be followed: it may be one of the capture's."""
    if m.capture is not None:
        m.capture.forked.setdefault(later.serial, place)


def given_away(m: Machine, place: Place, values: Sequence[Value]) -> None:
    """Streams go to code that is not followed: it may fork them from the capture, or join them to it."""
    capture = m.capture
    for part in (part for value in values for part in alternatives(value)):
        if capture is not None and isinstance(part, Obj) and part.cls == "torch.cuda.Stream":
            capture.forked.setdefault(part.serial, place)
            capture.pending.pop(part.serial, None)


def _join(capture: Capture, place: Place, later: Obj, earlier: Obj) -> None:
    waited_for = {earlier.serial} | capture.merged.get(earlier.serial, set())
    if later is not capture.stream:
        capture.forked.setdefault(later.serial, place)
        if not later.label:
            capture.facts["given-stream-forked"] = True
        capture.merged.setdefault(later.serial, set()).update(waited_for)
        if later.label:
            return
    for serial in waited_for:
        capture.pending.pop(serial, None)


def end(m: Machine, capture: Capture) -> None:
    """The capture ends: streams with work that the capturing stream has not waited for stay open."""
    for place in capture.pending.values():
        m.emit(StreamUnjoined(place=place, capture=capture))
