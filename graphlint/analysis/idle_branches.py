"""Branches of captured code that record nothing whichever way they go: logging, statistics, checks.

A graph does not depend on the number that decides such a branch, so its use there is no use in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture, HostUse
from graphlint.analysis.values import DRAWN

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@dataclass(slots=True)
class Watch:
    """An undecided test in captured code, its uses of host numbers, and what was recorded before its arms."""

    capture: Capture
    uses: list[HostUse]
    before: tuple[int, ...]

    def end(self, m: Machine, frame: Frame, *, wrote: bool) -> None:
        """Forget the uses if nothing depends on the test; `wrote` tells whether an arm left a cell changed.

        What depends on it is work for the device, a call that could not be followed, and leaving the block;
        for a number that is no clock's, what the arms have written as well.
        """
        if self.capture is not m.capture or _recorded(self.capture, frame) != self.before:
            return
        idle = {id(use) for use in self.uses if not wrote or _is_of_clock(use)}
        self.capture.host_uses = [use for use in self.capture.host_uses if id(use) not in idle]


def watch(m: Machine, frame: Frame, tests: int) -> Watch | None:
    """Watch the arms of a test, whose uses of host numbers begin at `tests`; None outside captures."""
    if not m.captures or len(m.captures[-1].host_uses) == tests:
        return None
    capture = m.captures[-1]
    return Watch(capture, capture.host_uses[tests:], _recorded(capture, frame))


def _recorded(capture: Capture, frame: Frame) -> tuple[int, ...]:
    left = [len(loop.breaks) + len(loop.continues) for loop in frame.loops]
    return (capture.operations, capture.work, len(capture.unresolved), len(frame.exits), *left)


def _is_of_clock(use: HostUse) -> bool:
    return any(key == DRAWN for _, key in use.cells)
