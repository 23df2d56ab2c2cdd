"""Streams inside a capture: which ones have joined it, where work escapes, and what nobody waits for.

Only streams whose identity is known are judged: ones that the program makes, the default stream, and the
stream of the capture. A stream that arrives as an argument may be any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis.events import OutsideWait, StreamEscaped, StreamUnjoined
from graphlint.analysis.frames import Place
from graphlint.analysis.values import Obj

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine


def is_known(stream: Obj) -> bool:
    """Whether the program shows which stream this is."""
    return bool(stream.label)


def belongs(capture: Capture, stream: Obj) -> bool:
    """Whether a stream takes part in the capture."""
    return stream is capture.stream or stream.serial in capture.forked


def on_work(m: Machine, place: Place | None) -> None:
    """Work is issued to the current stream."""
    capture = m.capture
    if capture is None or capture.compiled or not m.streams or place is None:
        return
    stream = m.streams[-1]
    if stream is capture.stream or not is_known(stream):
        return
    if stream.serial in capture.forked:
        capture.pending[stream.serial] = m.entered.get(stream.serial, place)
        for merged in capture.merged.values():
            merged.discard(stream.serial)
    elif stream.serial not in capture.escaped:
        where = m.entered.get(stream.serial, place)
        capture.escaped[stream.serial] = where
        m.emit(StreamEscaped(place=where, stream=stream))


def order(m: Machine, place: Place, later: Obj, earlier: Obj, *, recorded: bool = True) -> None:
    """`later` waits for `earlier`; `recorded` is False for an event from before the capture."""
    capture = m.capture
    if capture is None or capture.compiled:
        return
    if recorded and belongs(capture, earlier):
        _join(capture, place, later, earlier)
    elif belongs(capture, later) and is_known(earlier) and earlier.serial not in capture.escaped:
        m.emit(OutsideWait(place=place, stream=earlier))


def _join(capture: Capture, place: Place, later: Obj, earlier: Obj) -> None:
    waited_for = {earlier.serial} | capture.merged.get(earlier.serial, set())
    if later is not capture.stream:
        capture.forked.setdefault(later.serial, place)
        capture.merged.setdefault(later.serial, set()).update(waited_for)
        return
    for serial in waited_for:
        capture.pending.pop(serial, None)


def end(m: Machine, capture: Capture) -> None:
    """The capture ends: streams with work that the capturing stream has not waited for stay open."""
    for place in capture.pending.values():
        m.emit(StreamUnjoined(place=place, capture=capture))
