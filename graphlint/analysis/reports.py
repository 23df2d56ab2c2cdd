"""From captures to what `graphlint regions` shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis import graphs
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.roots import Root, text_of
from graphlint.regions import CapturedFunction, RegionReport, Unresolved

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


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


def unfinished(m: Machine, root: Root) -> list[Capture]:
    """The captures of a root whose budget is spent: each says that it may reach more.

    A root that captures and did not come so far stands for a region of its own.
    """
    place = Place(root.module, root.node, root.qualname)
    note = graphs.Unresolved(place, root.qualname, "not run to its end: the budget of this root is spent")
    if not (m.finished or m.captures) and text_of(root.node).captures:
        m.finished.append(Capture("not run to its end", place, (), None))
    for capture in [*m.finished, *m.captures]:
        capture.unresolved.append(note)
    return m.finished


def merged(regions: Iterable[RegionReport]) -> list[RegionReport]:
    """One report for each region, joined from those of several units."""
    found: dict[tuple[str, int, str], RegionReport] = {}
    for region in regions:
        key = (region.path, region.line, region.kind)
        found[key] = _join(found[key], region) if key in found else region
    return [found[key] for key in sorted(found)]


def _join(left: RegionReport, right: RegionReport) -> RegionReport:
    captured: dict[tuple[str, int], CapturedFunction] = {}
    for each in sorted([*left.captured, *right.captured], key=lambda one: (len(one.chain), one)):
        captured.setdefault((each.path, each.line), each)
    unresolved = tuple(sorted({*left.unresolved, *right.unresolved}))
    return RegionReport(left.path, left.line, left.kind, tuple(sorted(captured.values())), unresolved)
