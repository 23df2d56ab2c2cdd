"""What `graphlint regions` reports: each capture region, what it reaches, what could not be followed."""

from __future__ import annotations

from collections.abc import Iterable
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


# The reason where a function was too much for the analysis: what lies beyond is silent.
NOT_RUN_TO_ITS_END = "not run to its end: the budget of this root is spent"
# The kind of a region that stands for a definition which captures and did not come so far.
NOT_REACHED = "not run to its end"


@dataclass(frozen=True, slots=True, order=True)
class CallSite:
    """A call in captured code, calls of torch's functions and of builtins left out.

    It is `resolved` when it led to project code, to a listed library function, or to a method of a value of
    known type, in some run of the region: the method that captures is also run alone, with arguments that
    nobody gives. `own` marks calls of the form `self.name(...)`.
    """

    path: str
    line: int
    column: int
    own: bool
    resolved: bool


@dataclass(frozen=True, slots=True, order=True)
class LeftBehind:
    """A name outside of the graph that captured code binds to memory of the graph's pool."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True, order=True)
class RegionReport:
    """A capture region and everything that the analysis reached from it."""

    path: str
    line: int
    kind: str
    captured: tuple[CapturedFunction, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    replays: tuple[Hop, ...] = ()
    left_behind: tuple[LeftBehind, ...] = ()
    calls: tuple[CallSite, ...] = ()


@dataclass(frozen=True, slots=True)
class Shares:
    """How many of the calls in captured code were followed, over the call sites of several regions."""

    calls: int
    resolved: int
    own_calls: int
    own_resolved: int


def shares(regions: Iterable[RegionReport]) -> Shares:
    """Count each call site once; one that some region could follow is resolved."""
    sites: dict[tuple[str, int, int], CallSite] = {}
    for call in (call for region in regions for call in region.calls):
        key = (call.path, call.line, call.column)
        sites[key] = max(sites.get(key, call), call)
    own = [call for call in sites.values() if call.own]
    return Shares(len(sites), _resolved(sites.values()), len(own), _resolved(own))


def _resolved(calls: Iterable[CallSite]) -> int:
    return sum(call.resolved for call in calls)
