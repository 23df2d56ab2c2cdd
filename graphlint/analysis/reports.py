"""From captures to what `graphlint regions` shows."""

from __future__ import annotations

from collections.abc import Iterable

from graphlint.analysis.graphs import Capture
from graphlint.regions import CapturedFunction, RegionReport, Unresolved


def regions_of(captures: Iterable[Capture]) -> list[RegionReport]:
    """One report for each region of the program text, whatever was reached in any run of it."""
    merged: dict[tuple[str, int, str], tuple[dict[object, CapturedFunction], set[Unresolved]]] = {}
    for capture in captures:
        key = (capture.place.path, capture.place.line, capture.kind)
        captured, unresolved = merged.setdefault(key, ({}, set()))
        for place, chain in capture.functions.values():
            made = CapturedFunction(place.path, place.line, place.function, chain)
            best = captured.get((place.path, place.line))
            if best is None or len(chain) < len(best.chain):
                captured[(place.path, place.line)] = made
        for each in capture.unresolved:
            unresolved.add(Unresolved(each.place.path, each.place.line, each.text, each.reason))
    return [
        RegionReport(path, line, kind, tuple(sorted(captured.values())), tuple(sorted(unresolved)))
        for (path, line, kind), (captured, unresolved) in sorted(merged.items())
    ]
