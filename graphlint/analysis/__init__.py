"""The analysis: runs the roots of a project on the abstract machine and gathers what rules report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint.finding import Finding
from graphlint.problem import Problem
from graphlint.regions import NOT_RUN_TO_ITS_END, RegionReport, Unresolved

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.facts.project import Project


@dataclass(slots=True)
class Analysis:
    """What the analysis of a project found: raw findings, nothing suppressed, and its regions."""

    findings: list[Finding] = field(default_factory=list)
    regions: list[RegionReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def captured_functions(self) -> int:
        return len({(c.path, c.line) for region in self.regions for c in region.captured})

    @property
    def unresolved_calls(self) -> int:
        return len(_places(self._notes(unfinished=False)))

    @property
    def unfinished(self) -> int:
        """How many functions were not run to their end."""
        return len(_places(self._notes(unfinished=True)))

    def _notes(self, *, unfinished: bool) -> Iterator[Unresolved]:
        notes = (note for region in self.regions for note in region.unresolved)
        return (note for note in notes if (note.reason == NOT_RUN_TO_ITS_END) is unfinished)


def _places(notes: Iterator[Unresolved]) -> set[tuple[str, int, str]]:
    return {(note.path, note.line, note.text) for note in notes}


def analyse(
    project: Project, config: Config, *, cache: Path | None = None, jobs: int | None = None
) -> Analysis:
    """Analyse a project; a crash in one root is a problem that names its file, the rest goes on.

    `cache` is a folder for results between runs, None for none; the findings do not depend on it, nor on
    `jobs`, the number of processes (as many as there are processors when None).
    """
    from graphlint.analysis import declarations, frameworks, units
    from graphlint.analysis.results import ResultsCache
    from graphlint.analysis.workers import Pool
    from graphlint.facts.inventory import processors

    kept = ResultsCache(cache, project, config)
    config = replace(config, in_force=frameworks.in_force(project, config))
    kept.use_profiles(config.in_force)
    declared = declarations.take(project, config)
    paths = sorted(declared.paths)
    kept.use_notes({path: declared.noted.get(path, []) for path in {*paths, *declared.noted}})
    with Pool(project, config, jobs or processors()) as pool:
        results = units.run_all(paths, partial(kept.complete, pool.do))
    kept.save()
    gathered = _gathered(project, results)
    gathered.findings.extend(declared.findings)
    return gathered


def _gathered(project: Project, results: list[dict[str, Any]]) -> Analysis:
    from graphlint import packing
    from graphlint.analysis import reports
    from graphlint.analysis.rulebook import best_of

    for result in results:
        for path in result["unreadable"]:
            project.file(Path(path))  # a kept result or another process found it unreadable: say so here
    return Analysis(
        best_of(finding for result in results for finding in packing.findings_in(result)),
        reports.merged(region for result in results for region in packing.regions_in(result)),
        sorted({problem for result in results for problem in packing.problems_in(result)}),
    )
