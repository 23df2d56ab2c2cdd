"""Results as JSON: for the results cache and for what worker processes hand back."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from graphlint.facts.outline import PLACED
from graphlint.facts.trace import Part, Trace
from graphlint.finding import Confidence, Finding, Hop, Level, Span
from graphlint.problem import Problem
from graphlint.regions import CallSite, CapturedFunction, LeftBehind, RegionReport, Unresolved

if TYPE_CHECKING:
    from graphlint.facts.project import Project


def pack(
    findings: Iterable[Finding], regions: Iterable[RegionReport], problems: Iterable[Problem]
) -> dict[str, Any]:
    """What a run has found as JSON data."""
    return {
        "findings": [dataclasses.astuple(each) for each in findings],
        "regions": [dataclasses.astuple(each) for each in regions],
        "problems": [dataclasses.astuple(each) for each in problems],
    }


_QUICKLY = 1
_TELLING = ("findings", "regions", "problems")


def pack_trace(trace: Trace, project: Project, result: dict[str, Any]) -> str:
    """What a result rests on, in little room: nobody needs it before results are kept for a later run.

    Of files of which it tells places, it rests on where their parts stand, too.
    """
    told = repr([result[name] for name in _TELLING if name in result])
    is_placed = {path: repr(project.display(path))[1:-1] in told for path in trace.files()}
    basis = {
        "parts": [_part(project, each, placed=is_placed[each[0]]) for each in sorted(trace.parts)],
        "searches": [[*search, list(found)] for search, found in sorted(trace.searches.items())],
        "names": [[*asked, path] for asked, path in sorted(trace.names.items())],
    }
    return base64.b64encode(zlib.compress(json.dumps(basis).encode(), _QUICKLY)).decode()


def basis_in(packed: dict[str, Any]) -> dict[str, list[Any]]:
    """What a result rests on: `parts`, `searches` and `names`."""
    basis: dict[str, list[Any]] = json.loads(zlib.decompress(base64.b64decode(packed["basis"])))
    return basis


def _part(project: Project, part: Part, *, placed: bool) -> list[str]:
    """A file, a part of it, and what its digest is."""
    path, name = part
    return [path, PLACED + name if placed else name, project.digest_of(path, name, placed=placed)]


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
