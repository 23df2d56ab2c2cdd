"""What the sentinel reports: plain, immutable data, each kind of finding once and counted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Level = Literal["error", "warning", "note"]
Confidence = Literal["definite", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the program."""

    file: str
    line: int
    function: str


Stack = tuple[Place, ...]  # the innermost call first, the program's own frames only


@dataclass(frozen=True, slots=True)
class Finding:
    """A hazard that was seen, under the code of the linter's rule for it.

    `touched` is where memory was taken, written or given another name, as far as that was seen; `replayed` is
    where the graph was replayed or its memory read. `graph` counts the captures of the process from 1,
    `replay` the replays of that graph, 0 meaning none; `times` is how often the same was seen.
    """

    code: str
    message: str
    captured: Stack
    touched: Stack
    replayed: Stack
    check: str
    graph: int
    replay: int
    level: Level = "error"
    confidence: Confidence = "definite"
    times: int = 1


_Key = tuple[object, ...]
_SUBJECT = re.compile("`[^`]*`")
_VARIABLE = re.compile(r"`[^`]*`|\d+")
_MOST_NAMES = 3


class Findings:
    """A collection in which the same hazard at the same three places is one finding.

    What tells several apart there, numbers and the names of tensors, is of the first; the other names follow.
    """

    def __init__(self) -> None:
        self._found: dict[_Key, Finding] = {}
        self._subjects: dict[_Key, dict[str, None]] = {}

    def add(self, finding: Finding) -> bool:
        """Add one, or count it if it is there; returns whether it is new."""
        key = _key(finding)
        before = self._found.get(key)
        self._found[key] = finding if before is None else replace(before, times=before.times + finding.times)
        subject = _SUBJECT.search(finding.message)
        if subject:
            self._subjects.setdefault(key, {})[subject[0]] = None
        return before is None

    def as_list(self) -> list[Finding]:
        """What was found, in the order of its first appearance."""
        return [
            replace(finding, message=finding.message + _also(list(self._subjects.get(key, ()))[1:]))
            for key, finding in self._found.items()
        ]


def _also(names: list[str]) -> str:
    """The names of tensors of which the same was found."""
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" (also {', '.join(names[:_MOST_NAMES])}{more})"


def _key(finding: Finding) -> _Key:
    return (
        finding.code,
        finding.check,
        _VARIABLE.sub("", finding.message),
        finding.captured[:1],
        finding.touched[:1],
        finding.replayed[:1],
    )
