"""Where the program is: its own frames, without torch's and the sentinel's."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import threading
from types import CodeType, FrameType

import torch

import graphlint.sentinel
from graphlint.sentinel import programs
from graphlint.sentinel.findings import Place, Stack

_SKIPPED = tuple(
    os.path.dirname(str(module.__file__)) + os.sep
    for module in (torch, graphlint.sentinel)
    if module.__file__
)
_TORCH = os.path.dirname(str(torch.__file__)) + os.sep
_ENDS = {"__enter__", "__exit__", "capture_begin", "capture_end"}
_RUNNERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("_pytest", "pluggy", "multiprocessing"))
_CALL_BACK = {"raises.py", "python_api.py", "recwarn.py"}  # of pytest's own, those that tests call
_BETWEEN = {contextlib.__file__, runpy.__file__, threading.__file__}
_DEEPEST = 24

_foreign: dict[CodeType, bool] = {}


def is_program(code: CodeType) -> bool:
    """Whether a frame is the program's own."""
    known = _foreign.get(code)
    if known is None:
        name = code.co_filename
        known = _foreign[code] = (
            name.startswith((*_SKIPPED, "<frozen"))
            or name in _BETWEEN
            or any(runner in name for runner in _RUNNERS)
        )
    return not known


def runs_programs(code: CodeType) -> bool:
    """Whether a frame is that of something by which a program or a test is run."""
    name = code.co_filename
    if os.path.basename(name) in _CALL_BACK:
        return False
    return name == programs.__file__ or any(runner in name for runner in _RUNNERS)


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
        if code.co_filename.startswith(_TORCH) and code.co_name not in _ENDS:
            return True
        frame = frame.f_back
    return False


def _place(code: CodeType, line: int) -> Place:
    return Place(code.co_filename, line, getattr(code, "co_qualname", code.co_name))


class Sites:
    """Numbers for single lines, which cost less than stacks."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[CodeType, int], int] = {}
        self._sites: list[tuple[CodeType, int]] = []

    def here(self) -> int:
        """The number of the line that the program is at."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not is_program(frame.f_code):
            frame = frame.f_back
        if frame is None:
            return -1
        key = (frame.f_code, frame.f_lineno)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sites)
            self._sites.append(key)
        return number

    def stack(self, number: int) -> Stack:
        """The line of a number."""
        if number < 0:
            return ()
        code, line = self._sites[number]
        return (_place(code, line),)
