"""One run: discovery, analysis, suppressions and order. It returns what it found and never prints."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from graphlint.config import Config, cache_folder
from graphlint.discovery import Discovered, FoundFile, discover
from graphlint.finding import Confidence, Finding, Span
from graphlint.problem import Problem, contained
from graphlint.regions import RegionReport
from graphlint.report import CheckResult, Summary, merge
from graphlint.rules.unreadable_source import UnreadableSource
from graphlint.sources import Sources
from graphlint.suppressions import MARK, Suppressions, suppressions_of


class Analysis(Protocol):
    """What the analysis of a project yields: findings as rules report them, unordered, nothing suppressed."""

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def regions(self) -> Sequence[RegionReport]: ...
    @property
    def captured_functions(self) -> int: ...
    @property
    def unresolved_calls(self) -> int: ...
    @property
    def problems(self) -> Sequence[Problem]: ...


Analyse = Callable[[Sequence[FoundFile], Config, bool, "int | None"], Analysis]


def check(
    paths: Sequence[str | Path],
    config: Config,
    *,
    use_cache: bool = True,
    jobs: int | None = None,
    analyse: Analyse | None = None,
) -> CheckResult:
    """Check the program that `paths` hold.

    What cannot be read, and a crash of the analysis, become problems; everything else is still checked.
    `jobs` is how many processes may be used, None for one on each processor; no finding depends on it.
    `analyse` stands in for the real analysis.
    """
    found = discover(paths, exclude=config.exclude, root=config.root)
    sources = Sources({file.shown: file.path for file in found.files})
    problems = list(found.problems)
    analysis: Analysis | None = None
    with contained(problems, os.curdir):
        analysis = (analyse or _analyse)(found.files, config, use_cache, jobs)
    if analysis is not None:
        problems.extend(analysis.problems)
    findings = _judge(found, analysis.findings if analysis else (), problems, config, sources)
    return CheckResult(
        tuple(merge(findings)),
        tuple(sorted(set(problems))),
        tuple(sorted(analysis.regions)) if analysis else (),
        _summary(found, analysis),
        sources,
    )


@dataclass(frozen=True, slots=True)
class _WithSourceProblems:
    findings: Sequence[Finding]
    regions: Sequence[RegionReport]
    captured_functions: int
    unresolved_calls: int
    problems: Sequence[Problem]


def _analyse(files: Sequence[FoundFile], config: Config, use_cache: bool, jobs: int | None) -> Analysis:
    from graphlint.analysis import analyse
    from graphlint.facts.cache import FactsCache
    from graphlint.facts.project import Project

    cache = FactsCache(cache_folder(config.root)) if use_cache else None
    named = [file.path for file in files if file.named]
    project = Project([file.path for file in files], named=named, cache=cache, jobs=jobs)
    analysis = analyse(project, config, cache=cache_folder(config.root) if use_cache else None, jobs=jobs)
    if cache is not None:
        cache.save()
    unreadable = [Problem(each.display, each.reason, is_source=True) for each in project.problems]
    return _WithSourceProblems(
        analysis.findings,
        analysis.regions,
        analysis.captured_functions,
        analysis.unresolved_calls,
        [*analysis.problems, *unreadable],
    )


def _judge(
    found: Discovered,
    raw: Iterable[Finding],
    problems: Iterable[Problem],
    config: Config,
    sources: Sources,
) -> list[Finding]:
    """Return the findings that are selected and not suppressed, and those about suppressions themselves."""
    by_path: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in (*raw, *(_unreadable(problem) for problem in problems if problem.is_source)):
        if config.is_enabled(finding.code):
            by_path[finding.path].append(finding)
    kept: list[Finding] = []
    for path in sorted({file.shown for file in found.files} | by_path.keys()):
        kept.extend(_after_suppression(_suppressions(path, sources), by_path[path], config))
    return kept


def _suppressions(path: str, sources: Sources) -> Suppressions:
    is_marked = MARK in sources.data(path)
    return suppressions_of(path, sources.text(path) if is_marked else "")


def _after_suppression(
    suppressions: Suppressions, findings: Iterable[Finding], config: Config
) -> list[Finding]:
    # Suppressions may be suppressed themselves: first the program's findings, then those about comments.
    kept = suppressions.apply(findings)
    about = [*suppressions.faults, *suppressions.unused(config.is_enabled)]
    return kept + suppressions.apply(finding for finding in about if config.is_enabled(finding.code))


def _unreadable(problem: Problem) -> Finding:
    span = Span(problem.line, problem.column, problem.line, problem.column + 1)
    rule = UnreadableSource
    return Finding(
        problem.path, span, rule.code, rule.name, rule.hazard, rule.level, Confidence.DEFINITE, problem.reason
    )


def _summary(found: Discovered, analysis: Analysis | None) -> Summary:
    if analysis is None:
        return Summary(len(found.files))
    return Summary(
        len(found.files), len(analysis.regions), analysis.captured_functions, analysis.unresolved_calls
    )
