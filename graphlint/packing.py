"""Results as JSON: for the results cache and for what worker processes hand back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from graphlint.facts.trace import Trace
from graphlint.finding import Confidence, Finding, Hop, Level, Span
from graphlint.problem import Problem
from graphlint.regions import CallSite, CapturedFunction, LeftBehind, RegionReport, Unresolved


def pack(
    findings: Iterable[Finding], regions: Iterable[RegionReport], problems: Iterable[Problem]
) -> dict[str, Any]:
    """What a run has found as JSON data."""
    return {
        "findings": [dataclasses.astuple(each) for each in findings],
        "regions": [dataclasses.astuple(each) for each in regions],
        "problems": [dataclasses.astuple(each) for each in problems],
    }


def pack_trace(trace: Trace) -> dict[str, Any]:
    """What a result rests on as JSON data."""
    return {
        "files": sorted(trace.files),
        "searches": [[*search, list(found)] for search, found in sorted(trace.searches.items())],
        "names": [[*asked, path] for asked, path in sorted(trace.names.items())],
    }


def findings_in(packed: dict[str, Any]) -> Iterator[Finding]:
    """The findings that `pack` wrote; none for a result without findings."""
    return map(_finding, packed.get("findings", ()))


def regions_in(packed: dict[str, Any]) -> Iterator[RegionReport]:
    """The regions that `pack` wrote."""
    return map(_region, packed.get("regions", ()))


def problems_in(packed: dict[str, Any]) -> Iterator[Problem]:
    """The problems that `pack` wrote."""
    return (Problem(*row) for row in packed.get("problems", ()))


def _finding(row: list[Any]) -> Finding:
    # The last is the evidence, which only findings of the sentinel have: they are never packed.
    path, span, code, name, hazard, level, confidence, message, chain, help_, _ = row
    hops = tuple(Hop(*hop) for hop in chain)
    return Finding(
        path, Span(*span), code, name, hazard, Level(level), Confidence(confidence), message, hops, help_
    )


def _region(row: list[Any]) -> RegionReport:
    path, line, kind, captured, unresolved, replays, left_behind, calls = row
    functions = tuple(
        CapturedFunction(p, at, name, tuple(Hop(*hop) for hop in chain)) for p, at, name, chain in captured
    )
    return RegionReport(
        path,
        line,
        kind,
        functions,
        tuple(Unresolved(*each) for each in unresolved),
        tuple(Hop(*each) for each in replays),
        tuple(LeftBehind(*each) for each in left_behind),
        tuple(CallSite(*each) for each in calls),
    )
