"""Where the program is: its own frames, without torch's and the sentinel's."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

from graphlint.sentinel import programs
from graphlint.sentinel.findings import Place, Stack
from graphlint.sentinel.origins import RUNNERS, is_of_torch, is_program

_ENDS = {"__enter__", "__exit__", "capture_begin", "capture_end"}
_CALL_BACK = {"raises.py", "python_api.py", "recwarn.py"}  # of pytest's own, those that tests call
_TREES = "torch._inductor.cudagraph_trees"
_DEEPEST = 24


def runs_programs(code: CodeType) -> bool:
    """Whether a frame is that of something by which a program or a test is run."""
    name = code.co_filename
    if os.path.basename(name) in _CALL_BACK:
        return False
    return name == programs.__file__ or any(runner in name for runner in RUNNERS)


def frames() -> list[FrameType]:
    """The program's frames, the innermost first. They keep locals alive: let them go at once.

    What runs a program or a test is not a part of it, nor is what has started that.
    """
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _DEEPEST:
        if is_program(frame.f_code):
            found.append(frame)
        elif runs_programs(frame.f_code):
            break
        frame = frame.f_back
    return found


def here() -> Stack:
    """The program's stack."""
    return tuple(_place(frame.f_code, frame.f_lineno) for frame in frames())


def by_library() -> bool:
    """Whether the program has called a function of torch that captures, such as `make_graphed_callables`,
    and not what opens or ends a capture."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_program(frame.f_code):
        code = frame.f_code
        if is_of_torch(code) and code.co_name not in _ENDS:
            return True
        frame = frame.f_back
    return False


def by_compiler() -> bool:
    """Whether torch captures code that it has compiled, which shares a pool with other such code only."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_program(frame.f_code):
        if frame.f_globals.get("__name__") == _TREES:
            return True
        frame = frame.f_back
    return False


def _place(code: CodeType, line: int) -> Place:
    return Place(code.co_filename, line, getattr(code, "co_qualname", code.co_name))


class Sites:
    """Numbers for single lines, which cost less than stacks."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}  # code is long to hash: by its address
        self._lines: dict[tuple[int, int], int] = {}
        self._sites: list[tuple[CodeType, int]] = []

    def here(self) -> int:
        """The number of the line that the program is at."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not is_program(frame.f_code):
            frame = frame.f_back
        if frame is None:
            return -1
        number = self._numbers.get((id(frame.f_code), frame.f_lasti))
        return self._new(frame) if number is None else number

    def _new(self, frame: FrameType) -> int:
        """Two instructions of a line have one number."""
        code = frame.f_code
        number = self._lines.setdefault((id(code), frame.f_lineno), len(self._sites))
        if number == len(self._sites):
            self._sites.append((code, frame.f_lineno))
        self._numbers[id(code), frame.f_lasti] = number
        return number

    def stack(self, number: int) -> Stack:
        """The line of a number."""
        if number < 0:
            return ()
        code, line = self._sites[number]
        return (_place(code, line),)
