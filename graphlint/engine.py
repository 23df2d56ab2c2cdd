"""One run: discovery, analysis, suppressions and order. It returns what it found and never prints."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graphlint.config import Config, cache_folder
from graphlint.discovery import Discovered, FoundFile, discover, given_file, shown_path
from graphlint.finding import Confidence, Finding, Span
from graphlint.lastrun import LastRun
from graphlint.problem import Problem, contained
from graphlint.regions import RegionReport
from graphlint.report import CheckResult, Summary, merge
from graphlint.rules.unreadable_source import UnreadableSource
from graphlint.sources import Sources
from graphlint.suppressions import MARK, Suppressions, suppressions_of

if TYPE_CHECKING:
    from graphlint.facts import project as facts

# So much is parsed to tell of broken files that nothing captured needs; larger projects are not slowed down.
MOST_UNNEEDED_BYTES = 500_000


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
    def unfinished(self) -> int: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    @property
    def unneeded(self) -> Sequence[Problem]: ...


Analyse = Callable[[Sequence[FoundFile], Config, bool, "int | None"], Analysis]


def check(
    paths: Sequence[str | Path],
    config: Config,
    *,
    use_cache: bool = True,
    jobs: int | None = None,
    given: tuple[Path, bytes] | None = None,
    analyse: Analyse | None = None,
) -> CheckResult:
    """Check the program that `paths` hold.

    `given` is one more file and its text, which stands in for what is on the disk.

    What cannot be read, and a crash of the analysis, become problems; everything else is still checked.
    `jobs` is how many processes may be used, None for one on each processor; no finding depends on it.
    `analyse` stands in for the real analysis.
    """
    found = discover(paths, exclude=config.exclude, root=config.root)
    config = replace(config, is_partial=not _covers(paths, config.root))
    if given is not None:
        found = _with(found, given_file(*given))
    sources = _sources(found, config)
    if not use_cache or analyse is not None or found.problems:
        return _check(found, config, sources, use_cache, jobs, analyse or _analyse)
    last = LastRun(cache_folder(config.root), found.files, config)
    known = last.result(sources)
    if known is not None:
        return known
    result = _check(found, config, sources, use_cache, jobs, _analyse)
    last.keep(result)
    return result


def _check(
    found: Discovered, config: Config, sources: Sources, use_cache: bool, jobs: int | None, analyse: Analyse
) -> CheckResult:
    problems = list(found.problems)
    analysis: Analysis | None = None
    with contained(problems, os.curdir):
        analysis = analyse(found.files, config, use_cache, jobs)
    if analysis is not None:
        problems.extend(analysis.problems)
    findings = _judge(found, analysis.findings if analysis else (), problems, config, sources)
    return CheckResult(
        tuple(merge(findings)),
        tuple(sorted(set(problems))),
        tuple(sorted(analysis.regions)) if analysis else (),
        _summary(found, analysis),
        sources,
        tuple(analysis.unneeded) if analysis else (),
    )


def _covers(paths: Iterable[str | Path], root: Path) -> bool:
    """Whether the folder of the configuration, or one above, is among the paths."""
    real = os.path.realpath(root)
    return any(Path(real).is_relative_to(os.path.realpath(path)) for path in paths)


def _with(found: Discovered, given: FoundFile) -> Discovered:
    others = (file for file in found.files if file.path != given.path)
    return Discovered(tuple(sorted([*others, given])), found.problems)


def _sources(found: Discovered, config: Config) -> Sources:
    given = {file.shown: file.given for file in found.files if file.given is not None}
    files = {file.shown: file.path for file in found.files}
    if config.file is not None:
        settings = os.path.realpath(config.file)
        files[shown_path(settings, os.getcwd())] = Path(settings)
    return Sources(files, given)


@dataclass(frozen=True, slots=True)
class _WithSourceProblems:
    findings: Sequence[Finding]
    regions: Sequence[RegionReport]
    captured_functions: int
    unresolved_calls: int
    unfinished: int
    problems: Sequence[Problem]
    unneeded: Sequence[Problem]


def _analyse(files: Sequence[FoundFile], config: Config, use_cache: bool, jobs: int | None) -> Analysis:
    from graphlint.analysis import analyse
    from graphlint.facts.cache import FactsCache
    from graphlint.facts.project import Project

    cache = FactsCache(cache_folder(config.root)) if use_cache else None
    named = [file.path for file in files if file.named]
    given = {str(file.path): file.given for file in files if file.given is not None}
    project = Project([file.path for file in files], named=named, cache=cache, jobs=jobs, given=given)
    analysis = analyse(project, config, cache=cache_folder(config.root) if use_cache else None, jobs=jobs)
    if cache is not None:
        cache.save()
    unreadable = [_problem(each) for each in project.problems]
    return _WithSourceProblems(
        analysis.findings,
        analysis.regions,
        analysis.captured_functions,
        analysis.unresolved_calls,
        analysis.unfinished,
        [*analysis.problems, *unreadable],
        [_problem(each) for each in project.broken_unread(MOST_UNNEEDED_BYTES)],
    )


def _problem(unreadable: facts.Problem) -> Problem:
    return Problem(unreadable.display, unreadable.reason, unreadable.line, unreadable.column, is_source=True)


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
        by_path[finding.path].append(finding)
    kept: list[Finding] = []
    program = {file.shown for file in found.files}
    for path in sorted(program | by_path.keys()):
        suppressions = _suppressions(path, sources) if path in program else Suppressions(path)
        kept.extend(_after_suppression(suppressions, by_path[path], _enabled_in(path, config)))
    return kept


def _enabled_in(path: str, config: Config) -> Callable[[str], bool]:
    """Whether findings of a code are wanted in a file."""
    unwanted = config.ignored_in(os.path.realpath(path)) if config.per_file_ignores else ()
    return lambda code: config.is_enabled(code) and not code.startswith(unwanted)


def _suppressions(path: str, sources: Sources) -> Suppressions:
    is_marked = MARK in sources.data(path)
    return suppressions_of(path, sources.text(path) if is_marked else "")


def _after_suppression(
    suppressions: Suppressions, findings: Iterable[Finding], is_enabled: Callable[[str], bool]
) -> list[Finding]:
    # Findings about comments may be suppressed too, so what is unused comes out last.
    kept = suppressions.apply(finding for finding in findings if is_enabled(finding.code))
    kept += suppressions.apply(fault for fault in suppressions.faults if is_enabled(fault.code))
    unused = suppressions.unused(is_enabled)
    return kept + suppressions.apply(finding for finding in unused if is_enabled(finding.code))


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
        len(found.files),
        len(analysis.regions),
        analysis.captured_functions,
        analysis.unresolved_calls,
        analysis.unfinished,
    )
