"""The analysis: runs the roots of a project on the abstract machine and gathers what rules report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.finding import Finding
from graphlint.problem import Problem
from graphlint.regions import NOT_RUN_TO_ITS_END, RegionReport, Unresolved

if TYPE_CHECKING:
    from graphlint.analysis.units import UnitResult
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
    from graphlint.analysis import declarations, frameworks, packing, workers
    from graphlint.analysis.results import ResultsCache
    from graphlint.facts.inventory import processors

    config = replace(config, in_force=frameworks.in_force(project, config))
    kept = ResultsCache(cache, project, config)
    declared = declarations.take(project, config)
    paths = sorted({*project.marked_paths(), *declared.paths})
    results = {path: result for path in paths if (result := kept.get(path)) is not None}
    pending = [path for path in paths if path not in results]
    for path, packed in workers.run_units(project, config, pending, jobs or processors()).items():
        kept.put(path, packed)
        results[path] = packing.unpack(packed)
    kept.save()
    gathered = _gathered(project, [results[path] for path in paths])
    gathered.findings.extend(declared.findings)
    return gathered


def _gathered(project: Project, results: list[UnitResult]) -> Analysis:
    from graphlint.analysis import reports
    from graphlint.analysis.rulebook import best_of

    for result in results:
        for path in result.unreadable:
            project.file(Path(path))  # a kept result or another process found it unreadable: say so here
    return Analysis(
        best_of(finding for result in results for finding in result.findings),
        reports.merged(region for result in results for region in result.regions),
        sorted({problem for result in results for problem in result.problems}),
    )
