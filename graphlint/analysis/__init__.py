"""The analysis: runs the roots of a project on the abstract machine and gathers what rules report."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.finding import Finding
from graphlint.problem import Problem, contained
from graphlint.regions import RegionReport

if TYPE_CHECKING:
    from graphlint.analysis.classes import ClassInfo
    from graphlint.config import Config
    from graphlint.facts.project import Project

STACK_BYTES = 512 * 1024 * 1024


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
        return len({(u.path, u.line, u.text) for region in self.regions for u in region.unresolved})


def analyse(project: Project, config: Config) -> Analysis:
    """Analyse a project; a crash in one root is a problem that names its file, the rest goes on."""
    result = Analysis()
    _with_deep_stack(lambda: _run_roots(project, config, result))
    return result


def _run_roots(project: Project, config: Config, result: Analysis) -> None:
    from graphlint.analysis import declarations, lifecycle, reports, roots
    from graphlint.analysis.machine import Exhausted, Machine
    from graphlint.analysis.rulebook import Rulebook

    classes: dict[int, ClassInfo] = {}
    rulebook = Rulebook(config)
    captures = []
    declared = declarations.take(project, config)
    for root in roots.of_project(project, declared.modules):
        machine = Machine(project, config, rulebook.listen)
        machine.classes = classes
        rulebook.begin(machine)
        with contained(result.problems, root.module.display):
            with contextlib.suppress(Exhausted):
                lifecycle.run(machine, root)
            rulebook.finish()
        captures.extend([*machine.finished, *machine.captures])
    result.findings = [*rulebook.findings(), *declared.findings]
    result.regions = reports.regions_of(captures)


def _with_deep_stack(work: Callable[[], None]) -> None:
    """Abstract calls nest deeply: run on a thread with a large stack and a high recursion limit."""
    failure: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failure.append(error)

    old_limit, old_size = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(40_000)
    threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old_size)
        sys.setrecursionlimit(old_limit)
    if failure:
        raise failure[0]
