"""Mode "test": results that the program keeps under other names than the one it gives to the next result.

A runner may return the very tensor that the graph writes. Then `first = run(a)` and `second = run(b)` name
one tensor, and only the names tell that `first` means the result before the last.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from graphlint.sentinel.origins import is_program
from graphlint.sentinel.watching.runs import FrameRoot, has_locals, locals_of
from graphlint.sentinel.watching.statements import names_assigned, names_copied, names_read

_MOST_FRAMES = 6
_Variable = tuple[int, str]  # the run of a function, and a name in it


class KeptNames:
    """Which variable of which running function or module is given the result of which replay."""

    def __init__(self) -> None:
        self._outputs: dict[int, weakref.ref[Any]] = {}
        self._kept: dict[_Variable, int] = {}  # the number of the replay
        self._copied: dict[_Variable, tuple[int, int]] = {}  # the same of `name = result`, and who waited

    def add(self, outputs: list[weakref.ref[Any]]) -> None:
        """The tensors that the program held of a graph's pool when its capture ended."""
        for reference in outputs:
            tensor = reference()
            if tensor is not None:
                self._outputs[id(tensor)] = reference

    def replaying(self, replay: int) -> None:
        """A graph is about to be replayed: the statements that wait for it name its result."""
        for frame in _frames():
            self._note_copies(frame, replay - 1)
            for name in names_assigned(frame):
                variable = FrameRoot(frame, name).run, name
                self._kept[variable] = replay
                self._copied.pop(variable, None)

    def _note_copies(self, frame: FrameType, replay: int) -> None:
        """What is called a result by a second name is an older one from now on."""
        for name, copies in names_copied(frame.f_code).items() if self._kept or self._copied else ():
            run = FrameRoot(frame, name).run
            of_result = any((run, other) in self._kept or (run, other) in self._copied for other, _ in copies)
            if of_result and replay > 0 and self._is_output(_value(frame, name)):
                self._copied[run, name] = (replay, frame.f_lasti)

    def read_through(self, tensor: Any) -> tuple[str, int] | None:
        """The name of a result through which the program's line reads a tensor, and the number of the
        replay."""
        if not self._kept or not self._is_output(tensor):
            return None
        frame = next(iter(_frames()), None)
        if frame is None:
            return None
        found = [(self._replay_of(frame, name), name) for name in names_read(frame)]
        old = [(replay, name) for replay, name in found if replay and _value(frame, name) is tensor]
        return min(old)[::-1] if old else None

    def _replay_of(self, frame: FrameType, name: str) -> int:
        """The number of the replay that a variable shows, 0 where that is not known."""
        variable = FrameRoot(frame, name).run, name
        replay, waited = self._copied.get(variable, (0, 0))
        if not replay:
            return self._kept.get(variable, 0)
        copies = names_copied(frame.f_code).get(name, [])
        anew = any(_is_between(waited, at, frame.f_lasti) for _, at in copies)
        return 0 if anew else replay

    def _is_output(self, value: Any) -> bool:
        known = self._outputs.get(id(value))
        return known is not None and known() is value


def _is_between(start: int, at: int, end: int) -> bool:
    """Whether code at a place runs on the way from one place to another, perhaps round a loop."""
    return start < at < end if start < end else at > start or at < end


def _value(frame: FrameType, name: str) -> Any:
    return locals_of(frame).get(name) if has_locals(frame) else frame.f_globals.get(name)


def line_reads(name: str) -> bool:
    """Whether the program's line, as it stands, reads a name or an attribute."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_program(frame.f_code):
        frame = frame.f_back
    return frame is not None and name in names_read(frame)


def _frames() -> list[FrameType]:
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(found) < _MOST_FRAMES:
        if is_program(frame.f_code) and (has_locals(frame) or frame.f_locals is frame.f_globals):
            found.append(frame)
        frame = frame.f_back
    return found
