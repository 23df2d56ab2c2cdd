"""Unit results as JSON: for the results cache and for what worker processes hand back."""

from __future__ import annotations

import dataclasses
from typing import Any

from graphlint.analysis.units import UnitResult
from graphlint.facts.trace import Trace
from graphlint.finding import Confidence, Finding, Hop, Level, Span
from graphlint.problem import Problem
from graphlint.regions import CallSite, CapturedFunction, LeftBehind, RegionReport, Unresolved


def pack(result: UnitResult) -> dict[str, Any]:
    """A unit result as JSON data."""
    return {
        "findings": [dataclasses.astuple(each) for each in result.findings],
        "regions": [dataclasses.astuple(each) for each in result.regions],
        "problems": [dataclasses.astuple(each) for each in result.problems],
        "unreadable": result.unreadable,
        "files": sorted(result.trace.files),
        "searches": [[*search, list(found)] for search, found in sorted(result.trace.searches.items())],
        "names": [[*asked, path] for asked, path in sorted(result.trace.names.items())],
    }


def unpack(data: dict[str, Any]) -> UnitResult:
    """The unit result that `pack` wrote."""
    trace = Trace(
        set(data["files"]),
        {(kind, name): tuple(found) for kind, name, found in data["searches"]},
        {(dotted, importer): path for dotted, importer, path in data["names"]},
    )
    return UnitResult(
        [_finding(row) for row in data["findings"]],
        [_region(row) for row in data["regions"]],
        [Problem(*row) for row in data["problems"]],
        data["unreadable"],
        trace,
    )


def _finding(row: list[Any]) -> Finding:
    path, span, code, name, hazard, level, confidence, message, chain, help_ = row
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
