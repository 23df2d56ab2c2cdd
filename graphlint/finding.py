"""What the linter reports: plain, immutable data that every other part exchanges."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Level(str, Enum):
    """How bad a finding is: capture fails or results are wrong, probably so, or worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confidence(str, Enum):
    """How sure the analysis is of a finding; `POSSIBLE` is hidden unless asked for."""

    DEFINITE = "definite"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A piece of source text: lines and columns from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Hop(NamedTuple):
    """One step of a chain: the place in `path` where `function` is entered or calls the next one.

    A tuple, as chains are made for every write and event of captured code.
    """

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the sentinel saw while the program ran: three stacks, innermost first, and how often.

    `graph` counts the captures of the process from 1, `replay` the replays of that graph, 0 for none.
    """

    captured: tuple[Hop, ...]
    touched: tuple[Hop, ...]
    replayed: tuple[Hop, ...]
    check: str
    graph: int
    replay: int
    times: int

    @property
    def stacks(self) -> tuple[tuple[str, tuple[Hop, ...]], ...]:
        """The stacks that are not empty, each with what happened there."""
        named = (("captured", self.captured), ("touched", self.touched), ("replayed", self.replayed))
        return tuple((what, stack) for what, stack in named if stack)


@dataclass(frozen=True, slots=True)
class Finding:
    """A hazard at a place, with the chain region -> call -> ... -> hazard that makes it one.

    `path` is as shown to the user: relative to the working folder, with forward slashes. A finding of the
    sentinel has `evidence`, and as its chain the innermost places of its stacks.
    """

    path: str
    span: Span
    code: str
    name: str
    hazard: str
    level: Level
    confidence: Confidence
    message: str
    chain: tuple[Hop, ...] = field(default=())
    help: str = ""
    evidence: Evidence | None = None

    @property
    def sort_key(self) -> tuple[str, Span, str, str]:
        return (self.path, self.span, self.code, self.message)
