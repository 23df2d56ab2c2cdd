"""Mode "test": results that the program keeps under other names than the one it gives to the next result.

A runner may return the very tensor that the graph writes. Then `first = run(a)` and `second = run(b)` name
one tensor, and only the names tell that `first` means the result before the last.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.runs import FrameRoot, has_locals, locals_of
from graphlint.sentinel.watching.statements import names_assigned, names_read

_MOST_FRAMES = 6


class KeptNames:
    """Which local of which running function is given the result of which replay."""

    def __init__(self) -> None:
        self._outputs: dict[int, weakref.ref[Any]] = {}
        self._kept: dict[tuple[int, str], int] = {}  # by run and name: the number of the replay

    def add(self, outputs: list[weakref.ref[Any]]) -> None:
        """The tensors that the program held of a graph's pool when its capture ended."""
        for reference in outputs:
            tensor = reference()
            if tensor is not None:
                self._outputs[id(tensor)] = reference

    def replaying(self, replay: int) -> None:
        """A graph is about to be replayed: the statements that wait for it name its result."""
        for frame in _frames():
            for name in names_assigned(frame):
                self._kept[(FrameRoot(frame, name).run, name)] = replay

    def read_through(self, tensor: Any) -> tuple[str, int] | None:
        """The name of a result through which the program's line reads a tensor, and the number of the
        replay."""
        if not self._kept or not self._is_output(tensor):
            return None
        frame = next(iter(_frames()), None)
        if frame is None:
            return None
        read, values = names_read(frame), locals_of(frame)
        found = [(self._kept.get((FrameRoot(frame, name).run, name)), name) for name in read]
        old = [(replay, name) for replay, name in found if replay and values.get(name) is tensor]
        return min(old)[::-1] if old else None

    def _is_output(self, value: Any) -> bool:
        known = self._outputs.get(id(value))
        return known is not None and known() is value


def line_reads(name: str) -> bool:
    """Whether the program's line, as it stands, reads a name or an attribute."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not places.is_program(frame.f_code):
        frame = frame.f_back
    return frame is not None and name in names_read(frame)


def _frames() -> list[FrameType]:
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(found) < _MOST_FRAMES:
        if places.is_program(frame.f_code) and has_locals(frame):
            found.append(frame)
        frame = frame.f_back
    return found
