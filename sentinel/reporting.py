"""What the sentinel found, in the linter's own report: the same formats, schema, codes and pages.

A finding is shown at the line that touched memory, as the linter shows it, else where the graph was replayed,
else where it was captured. Its stacks are its evidence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.finding import Confidence, Evidence, Finding, Hop, Level
from graphlint.formats import format_named
from graphlint.formats.style import Style
from graphlint.report import CheckResult, Report, Summary, Watched, report_of
from graphlint.rules.registry import find
from graphlint.sentinel.advice import help_for
from graphlint.sentinel.allowing import Allowed, Table
from graphlint.sentinel.comments import Comments, line_of
from graphlint.sources import Sources

if TYPE_CHECKING:
    from graphlint.sentinel import findings as seen
    from graphlint.sentinel.session import Watch


@dataclass(slots=True)
class Outcome:
    """What is left of a watch under the settings of a project, and which of its entries were needed."""

    report: Report
    used: list[Allowed] = field(default_factory=list)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.report.findings


def outcome_of(watch: Watch, table: Table, root: Path) -> Outcome:
    """Return what to report of a watch, paths relative to `root`, the folder where the program began.

    Findings that the table or a comment allows are left out and counted, and so are notes and what is only
    possible.
    """
    judged = [(finding, table.allowing(finding)) for finding in watch.findings]
    shown = _Shown(root)
    converted = [_converted(finding, shown) for finding, entry in judged if entry is None]
    sources = Sources(shown.files)
    comments = Comments(sources)
    findings = tuple(finding for finding in converted if not comments.accept(finding))
    graphs = Watched(watch.mode, watch.graphs, watch.replays, tuple(watch.unseen))
    summary = Summary(files=len({finding.path for finding in findings}), regions=watch.graphs)
    result = CheckResult(findings, (), (), summary, sources)
    report = report_of(result, Level.WARNING, Confidence.LIKELY)
    accepted = len(judged) - len(findings)
    return Outcome(
        replace(report, watched=graphs, accepted=accepted), [entry for _, entry in judged if entry]
    )


def at_most(report: Report, most: int) -> Report:
    """Return the report with its first findings only; the others are counted as not shown."""
    more = len(report.findings) - most
    if more <= 0:
        return report
    return replace(report, findings=report.findings[:most], hidden=report.hidden + more)


def rendered(name: str, report: Report, style: Style | None = None) -> str:
    """Return the report in one of the linter's formats."""
    return "".join(format_named(name)(report, style or Style()))


def unused(table: Table, used: Iterable[Allowed]) -> list[str]:
    """Return a line for each entry of the allow-list that nothing needed."""
    needed = set(used)
    return [f"allowed and not found in this run: {entry}" for entry in table.allow if entry not in needed]


class _Shown:
    """Files as they are shown, and where they are."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self.files: dict[str, Path] = {}

    def hops(self, places: Sequence[seen.Place]) -> tuple[Hop, ...]:
        return tuple(Hop(self._path(place.file), max(place.line, 1), place.function) for place in places)

    def _path(self, file: str) -> str:
        real = os.path.realpath(file) if os.path.exists(file) else file
        inside = real.startswith(self._root + os.sep)
        path = (real[len(self._root) + 1 :] if inside else file).replace(os.sep, "/")
        self.files[path] = Path(real)
        return path


def _converted(finding: seen.Finding, shown: _Shown) -> Finding:
    rule = find(finding.code)
    assert rule is not None, finding.code
    captured, touched, replayed = map(shown.hops, (finding.captured, finding.touched, finding.replayed))
    place = next((stack[0] for stack in (touched, replayed, captured) if stack), Hop("<unknown>", 1, "?"))
    return Finding(
        path=place.path,
        span=line_of(place, Sources(shown.files)),
        code=rule.code,
        name=rule.name,
        hazard=rule.hazard,
        level=Level(finding.level),
        confidence=Confidence(finding.confidence),
        message=finding.message,
        chain=tuple(stack[0] for stack in (captured, touched, replayed) if stack),
        help=help_for(finding.code, finding.check),
        evidence=Evidence(
            captured, touched, replayed, finding.check, finding.graph, finding.replay, finding.times
        ),
    )
