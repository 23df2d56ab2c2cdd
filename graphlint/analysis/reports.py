"""From captures to what `graphlint regions` shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.analysis import graphs, repeated
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.own_text import text_of
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.roots import Root
from graphlint.facts import nodes as ast
from graphlint.regions import (
    NOT_REACHED,
    NOT_RUN_TO_ITS_END,
    CallSite,
    CapturedFunction,
    LeftBehind,
    RegionReport,
    Unresolved,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def regions_of(captures: Iterable[Capture]) -> list[RegionReport]:
    """One report for each region of the program text, whatever was reached in any run of it."""
    return merged(_report(capture) for capture in captures)


def _report(capture: Capture) -> RegionReport:
    return RegionReport(
        capture.place.path,
        capture.place.line,
        capture.kind,
        tuple(
            CapturedFunction(place.path, place.line, place.function, chain)
            for place, chain in capture.functions.values()
        ),
        tuple(Unresolved(e.place.path, e.place.line, e.text, e.reason) for e in capture.unresolved),
        tuple(capture.replayed),
        tuple(_left_behind(capture)),
        tuple(_calls(capture)),
    )


def _left_behind(capture: Capture) -> Iterable[LeftBehind]:
    """Names that are bound to memory of the graph's pool when the capture ends."""
    for write in capture.written.values():
        name = _target(write.place.node)
        held = tensors_in(write.value, 1)
        if name and not write.local and any(tensor.storage.graph is capture.graph for tensor in held):
            yield LeftBehind(write.place.path, write.place.line, name)


def _target(node: ast.AST) -> str:
    """What an assignment binds, as text; empty for writes that are none."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
    return ast.unparse(target) if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)) else ""


def _calls(capture: Capture) -> Iterable[CallSite]:
    lost = {each.place.key for each in capture.unresolved}
    for key, own in capture.calls.items():
        yield CallSite(*key, own, key not in lost)


def unfinished(m: Machine, root: Root) -> list[Capture]:
    """The captures of a root whose budget is spent: each says that it may reach more.

    A root that captures and did not come so far stands for a region of its own.
    """
    place = Place(root.module, root.node, root.qualname)
    note = graphs.Unresolved(place, root.qualname, NOT_RUN_TO_ITS_END)
    if not (m.finished or m.captures) and text_of(root.node).captures:
        m.finished.append(Capture(NOT_REACHED, place, (), None))
    for capture in [*m.finished, *m.captures]:
        capture.unresolved.append(note)
    return m.finished


def say_cuts(m: Machine, root: Root, captures: Iterable[Capture]) -> None:
    """Each capture of a root says which calls before it were cut short, or not followed at all."""
    here = Place(root.module, root.node, root.qualname)
    reason = "cut short outside of captured code: known in part"
    too_deep = f"calls are followed {m.MAX_DEPTH} deep, outside of captured code too"
    lost = [(function, reason) for function in m.cuts.values()]
    lost += [(function, too_deep) for function in m.memo.get(repeated.TOO_DEEP, {}).values()]
    for capture in captures:
        capture.unresolved += [graphs.Unresolved(here, each.qualname, why) for each, why in lost]


def merged(regions: Iterable[RegionReport]) -> list[RegionReport]:
    """One report for each region, joined from those of several captures or units."""
    found: dict[tuple[str, int, str], list[RegionReport]] = {}
    for region in regions:
        found.setdefault((region.path, region.line, region.kind), []).append(region)
    return [_joined(found[key]) for key in sorted(found)]


def _joined(parts: list[RegionReport]) -> RegionReport:
    """Of a function reached in several ways the shortest chain stands; a call followed once is resolved."""
    captured: dict[tuple[str, int], CapturedFunction] = {}
    for each in sorted((f for part in parts for f in part.captured), key=lambda one: (len(one.chain), one)):
        captured.setdefault((each.path, each.line), each)
    calls: dict[tuple[str, int, int], CallSite] = {}
    for call in sorted((call for part in parts for call in part.calls), reverse=True):
        calls.setdefault((call.path, call.line, call.column), call)
    return replace(
        parts[0],
        captured=tuple(sorted(captured.values())),
        unresolved=tuple(sorted({each for part in parts for each in part.unresolved})),
        replays=tuple(sorted({each for part in parts for each in part.replays})),
        left_behind=tuple(sorted({each for part in parts for each in part.left_behind})),
        calls=tuple(sorted(calls.values())),
    )
