"""Units of work: each marked file is analysed by itself, so that its result can be kept and shared out.

A unit's result says what it rests on (the files read, the searches made, the names resolved), so that a
later run knows whether it still holds. What units share (a caller of several captures) gives the same
result for each of them, which makes the findings independent of the order and the number of processes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.facts.trace import Trace
from graphlint.finding import Finding
from graphlint.problem import Problem, contained
from graphlint.regions import RegionReport

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.roots import Root
    from graphlint.config import Config
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project


# What one root may cost, in expressions evaluated.
STEPS = 50_000
STEPS_OF_CALLERS = 20_000
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


@dataclass(slots=True)
class _RootResult:
    """What one root gave: the same for every unit that runs it."""

    findings: list[Finding]
    regions: list[RegionReport]
    problems: list[Problem]
    trace: Trace
    captures: bool
    is_open: bool


class Analyst:
    """Runs the units of a project one after another, in one process; what several units run is run once."""

    def __init__(self, project: Project, config: Config) -> None:
        self._project = project
        self._config = config
        self._marked = frozenset(project.marked_paths())
        self._done: dict[tuple[str, str, int], _RootResult] = {}

    def run_unit(self, path: str) -> UnitResult:
        """Analyse one marked file; a crash in one root is a problem that names the file, the rest goes on."""
        trace = Trace()
        self._project.trace_into(trace)
        result = UnitResult(trace=trace)
        module = self._project.file(Path(path))
        if module is not None:
            self._run_roots(module, result)
        result.unreadable = sorted(each for each in trace.files if self._project.file(Path(each)) is None)
        return result

    def _run_roots(self, module: ModuleFile, result: UnitResult) -> None:
        from graphlint.analysis import reports, roots
        from graphlint.analysis.rulebook import best_of

        own = roots.roots_of(module)
        done = [self._run(root, STEPS, result.trace) for root in own]
        depends = not any(each.captures for each in done) or any(each.is_open for each in done)
        most = CALLERS_OF_OPEN_REGIONS if depends else CALLERS
        for root in roots.callers_of(self._project, module, own, most):
            if not self._is_of_other_unit(root):
                done.append(self._run(root, STEPS_OF_CALLERS, result.trace))
        result.findings = best_of(finding for each in done for finding in each.findings)
        result.regions = reports.merged(region for each in done for region in each.regions)
        result.problems = [problem for each in done for problem in each.problems]

    def _is_of_other_unit(self, root: Root) -> bool:
        """Whether the unit of another marked file runs a caller anyway, and with a larger budget."""
        from graphlint.analysis import roots

        return str(root.module.path) in self._marked and root in roots.roots_of(root.module)

    def _run(self, root: Root, steps: int, trace: Trace) -> _RootResult:
        key = (root.module.display, root.qualname, steps)
        if key not in self._done:
            own = Trace()
            self._project.trace_into(own)
            self._done[key] = self._run_anew(root, steps, own)
            self._project.trace_into(trace)
        trace.add(self._done[key].trace)
        return self._done[key]

    def _run_anew(self, root: Root, steps: int, trace: Trace) -> _RootResult:
        """Run a root; where its defaults keep it from what it captures, once more with those left open."""
        from graphlint.analysis import lifecycle

        result = self._run_once(root, steps, trace)
        if not result.captures and not result.problems and lifecycle.waits_for_arguments(root):
            return self._run_once(root, steps, trace, open_defaults=True)
        return result

    def _run_once(self, root: Root, steps: int, trace: Trace, *, open_defaults: bool = False) -> _RootResult:
        from graphlint.analysis import lifecycle, reports
        from graphlint.analysis.budgets import Exhausted
        from graphlint.analysis.machine import Machine
        from graphlint.analysis.rulebook import Rulebook

        rulebook = Rulebook(self._config)
        machine = Machine(self._project, self._config, rulebook.listen, steps)
        machine.open_defaults = open_defaults
        rulebook.begin(machine)
        problems: list[Problem] = []
        reached = machine.finished
        with contained(problems, root.module.display):
            try:
                lifecycle.run(machine, root)
            except Exhausted:
                reached = reports.unfinished(machine, root)
            rulebook.finish()
        captures = [*reached, *machine.captures]
        reports.say_cuts(machine, root, captures)
        return _RootResult(
            rulebook.findings(),
            reports.regions_of(captures),
            problems,
            trace,
            bool(captures),
            any(map(_is_open, captures)),
        )


def _is_open(capture: Capture) -> bool:
    """Whether a region runs what it is given, or nothing at all: its callers decide what is captured."""
    return not (capture.functions or capture.work or capture.resolved) or any(
        "argument" in call.reason for call in capture.unresolved
    )
