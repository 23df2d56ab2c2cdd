"""What `graphlint regions` reports: each capture region, what it reaches, what could not be followed."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.finding import Hop


@dataclass(frozen=True, slots=True, order=True)
class CapturedFunction:
    """A function that runs while a stream is capturing; `function` is its qualified name."""

    path: str
    line: int
    function: str
    chain: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Unresolved:
    """A call in captured code that leads nowhere known: its source text, and why."""

    path: str
    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class RegionReport:
    """A capture region and everything that the analysis reached from it."""

    path: str
    line: int
    kind: str
    captured: tuple[CapturedFunction, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
