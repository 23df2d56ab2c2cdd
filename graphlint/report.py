"""The outcome of a run, and the part of it that was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graphlint.finding import Confidence, Finding, Level
from graphlint.problem import Problem
from graphlint.regions import RegionReport
from graphlint.sources import Sources

_LEVELS = tuple(Level)
_CONFIDENCES = tuple(Confidence)


@dataclass(frozen=True, slots=True)
class Summary:
    """How much was looked at; `unfinished` functions were too much to be run to their end."""

    files: int = 0
    regions: int = 0
    captured_functions: int = 0
    unresolved_calls: int = 0
    unfinished: int = 0


@dataclass(frozen=True, slots=True)
class Watched:
    """How much of a running program the sentinel saw; `unseen` says what it could not look at, and why."""

    mode: str
    graphs: int
    replays: int
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Everything that a run found out: all findings that no comment accepts, sorted, and all trouble.

    `unneeded` are files that cannot be read as Python and that nothing captured needs: no trouble.
    """

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    regions: tuple[RegionReport, ...]
    summary: Summary
    sources: Sources
    unneeded: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a format prints: the findings to show, and how many more are hidden or in the baseline.

    `watched` is there when the findings are the sentinel's: then they come from a run, not from reading.
    """

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    summary: Summary
    sources: Sources
    hidden: int = 0
    accepted: int = 0
    watched: Watched | None = None

    @property
    def exit_code(self) -> int:
        """0 for clean, 1 for findings shown, 2 for trouble of any kind."""
        return 2 if self.problems else int(bool(self.findings))


def report_of(result: CheckResult, level: Level, confidence: Confidence) -> Report:
    """Return the report of a run that shows findings of at least this level and confidence."""
    shown = tuple(
        finding
        for finding in result.findings
        if severity(finding) <= _LEVELS.index(level) and doubt(finding) <= _CONFIDENCES.index(confidence)
    )
    hidden = len(result.findings) - len(shown)
    return Report(shown, result.problems, result.summary, result.sources, hidden)


def severity(finding: Finding) -> int:
    """Return how bad a finding is, the worst first: 0 for an error."""
    return _LEVELS.index(finding.level)


def doubt(finding: Finding) -> int:
    """Return how unsure a finding is, the surest first: 0 for definite."""
    return _CONFIDENCES.index(finding.confidence)


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for each place and code, in a stable order.

    Code that several regions reach is reported once: the worst and surest finding, by its shortest chain.
    """
    best: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        key = (finding.path, finding.span, finding.code)
        if key not in best or _preference(finding) < _preference(best[key]):
            best[key] = finding
    return sorted(best.values(), key=lambda finding: finding.sort_key)


def _preference(finding: Finding) -> tuple[object, ...]:
    return (
        severity(finding),
        doubt(finding),
        len(finding.chain),
        finding.chain,
        finding.message,
        finding.help,
    )
