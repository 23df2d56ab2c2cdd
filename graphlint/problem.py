"""Trouble that kept a part of the work from being done; it is reported and the rest goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something at `path` that could not be done, and why; any problem makes the exit code 2.

    `is_source` says that the file belongs to the program and could not be read or parsed, which makes the
    problem a CG900 finding at `line` and `column` as well.
    """

    path: str
    reason: str
    line: int = 1
    column: int = 1
    is_source: bool = False


@contextmanager
def contained(problems: list[Problem], path: str) -> Iterator[None]:
    """Turn a crash of the body into a problem that names `path`; GRAPHLINT_DEBUG=1 lets it through."""
    try:
        yield
    except Exception as error:
        if os.environ.get("GRAPHLINT_DEBUG"):
            raise
        problems.append(Problem(path, _reason(error)))


def _reason(crash: Exception) -> str:
    if isinstance(crash, RecursionError):
        return "nested too deeply to be followed"
    return f"internal error, please report it: {describe(crash)}"


def describe(error: BaseException) -> str:
    """Return an exception as one line: its type and the first line of its message."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
