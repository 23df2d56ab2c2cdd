"""Units of work: each marked file is analysed by itself, so that its result can be kept and shared out.

A unit's result says what it rests on (the files read, the searches made, the names resolved), so that a
later run knows whether it still holds. Units share nothing, which makes the findings independent of the
order and the number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.facts.trace import Trace
from graphlint.finding import Finding
from graphlint.problem import Problem, contained
from graphlint.regions import RegionReport

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.config import Config
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project


# What one root may cost, in expressions evaluated.
STEPS = 60_000
STEPS_OF_CALLERS = 25_000
# How many definitions in other files are run for a unit: more where they decide what is captured.
CALLERS = 4
CALLERS_OF_OPEN_REGIONS = 12


@dataclass(slots=True)
class UnitResult:
    """What the analysis of one marked file found, and what that rests on."""

    findings: list[Finding] = field(default_factory=list)
    regions: list[RegionReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)


def run_unit(project: Project, config: Config, path: str) -> UnitResult:
    """Analyse one marked file; a crash in one root is a problem that names the file, the rest goes on."""
    result = UnitResult(trace=project.begin_trace())
    module = project.file(Path(path))
    if module is not None:
        _run_roots(project, config, module, result)
    result.unreadable = sorted(path for path in result.trace.files if project.file(Path(path)) is None)
    return result


def _run_roots(project: Project, config: Config, module: ModuleFile, result: UnitResult) -> None:
    from graphlint.analysis import lifecycle, reports, roots
    from graphlint.analysis.machine import Exhausted, Machine
    from graphlint.analysis.rulebook import Rulebook

    rulebook = Rulebook(config)
    captures: list[Capture] = []

    def run(root: roots.Root, steps: int) -> None:
        machine = Machine(project, config, rulebook.listen, steps)
        rulebook.begin(machine)
        reached = machine.finished
        with contained(result.problems, root.module.display):
            try:
                lifecycle.run(machine, root)
            except Exhausted:
                reached = reports.unfinished(machine, root)
            rulebook.finish()
        captures.extend([*reached, *machine.captures])

    own = roots.roots_of(module)
    for root in own:
        run(root, STEPS)
    most = CALLERS_OF_OPEN_REGIONS if _depends_on_callers(captures) else CALLERS
    for root in roots.callers_of(project, module, own, most):
        run(root, STEPS_OF_CALLERS)
    result.findings = rulebook.findings()
    result.regions = reports.regions_of(captures)


def _depends_on_callers(captures: Sequence[Capture]) -> bool:
    """Whether a region runs what it is given, or nothing at all: its callers decide what is captured."""
    return not captures or any(
        not (capture.functions or capture.work or capture.resolved)
        or any("argument" in call.reason for call in capture.unresolved)
        for capture in captures
    )
