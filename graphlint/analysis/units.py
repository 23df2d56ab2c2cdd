"""Tasks: the parts of the analysis that run by themselves, so that results can be kept and shared out.

A marked file is taken up in three steps: which roots it has, the run of each root, and which definitions in
other files call them, whose runs follow, the nearest first. Whatever leads to a run, it is one task, and done
once for all the files that ask for it; so neither the order of the files nor the number of processes makes a
difference.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint import packing
from graphlint.facts.modules import READABLE
from graphlint.facts.trace import Trace
from graphlint.problem import Problem, contained
from graphlint.regions import NOT_REACHED

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
# What callers of one file may take for nothing, which is more than one may take: then no other one is run.
STEPS_FOR_NOTHING = 21_000

Task = tuple[Any, ...]
"""`("own", path)`, `("callers", path, most)` or `("run", path, qualname, steps, way, goals)`."""
Result = dict[str, Any]
"""What a task gave, as JSON data: what it rests on (`packing.pack_trace`) and what its kind says."""
Do = Callable[[list[Task]], dict[Task, Result]]


def run_all(paths: list[str], do: Do) -> list[Result]:
    """The results of everything that is run for the marked files `paths`; `do` gives those of tasks."""
    own = do([("own", path) for path in paths])
    runs = {path: [_run(path, *root, steps=STEPS) for root in own["own", path]["roots"]] for path in paths}
    done = do([task for path in paths for task in runs[path]])
    asked = [("callers", path, _most_callers([done[task] for task in runs[path]])) for path in paths]
    found = do(asked)
    known = frozenset(fact for result in done.values() for fact in _facts(result))
    done.update(_run_callers([found[task]["roots"] for task in asked], known, do))
    return [*own.values(), *found.values(), *done.values()]


def _run_callers(found: list[list[list[Any]]], known: frozenset[Any], do: Do) -> dict[Task, Result]:
    """Run the callers of each file, the next of all files at a time, until too many steps were for nothing.

    Those of a caller count that came to no capture, or was given up, and found only what is `known` already.
    In a small program all are run; in a large one the cost follows the captures, not who leads to them.
    """
    runs = _runs_of_callers(found)
    waiting = [deque(runs[row[0], row[1]] for row in sorted(rows, key=_way_of)) for rows in found]
    learned = [set(known) for _ in found]
    spent = [0 for _ in found]
    done: dict[Task, Result] = {}
    while nexts := {n: w.popleft() for n, w in enumerate(waiting) if w and spent[n] < STEPS_FOR_NOTHING}:
        done.update(do([task for task in dict.fromkeys(nexts.values()) if task not in done]))
        for number, task in nexts.items():
            facts = set(_facts(done[task]))
            spent[number] += _lost(done[task]) if facts <= learned[number] else 0
            learned[number] |= facts
    return done


def _lost(result: Result) -> int:
    """The steps of a run that came to no capture, or that was given up."""
    return int(result["steps"]) if result["spent"] or not result["captures"] else 0


def _way_of(row: list[Any]) -> int:
    return int(row[2])


def _facts(result: Result) -> Iterator[Any]:
    """What a run has found: findings, regions that it came to, and the functions captured there."""
    yield from (json.dumps(finding) for finding in result["findings"])
    for path, line, kind, captured, *_ in result["regions"]:
        if kind != NOT_REACHED:
            yield path, line, kind
        yield from ((function[0], function[1]) for function in captured)


def _run(path: str, qualname: str, way: int, goals: Iterable[str], *, steps: int) -> Task:
    return ("run", path, qualname, steps, way, tuple(sorted(goals)))


def _most_callers(done: list[Result]) -> int:
    depends = not any(each["captures"] for each in done) or any(each["is_open"] for each in done)
    return CALLERS_OF_OPEN_REGIONS if depends else CALLERS


def _runs_of_callers(found: Iterable[list[list[Any]]]) -> dict[tuple[str, str], Task]:
    """One run for each caller, towards the goals of all the files that it calls; the nearest way counts."""
    goals: dict[tuple[str, str], set[str]] = {}
    ways: dict[tuple[str, str], int] = {}
    for each in found:
        for path, qualname, way, led_to in each:
            caller = (path, qualname)
            goals.setdefault(caller, set()).update(led_to)
            ways[caller] = min(way, ways.get(caller, way))
    return {each: _run(*each, ways[each], led_to, steps=STEPS_OF_CALLERS) for each, led_to in goals.items()}


class Analyst:
    """Does tasks of a project one after another, in one process."""

    def __init__(self, project: Project, config: Config) -> None:
        self._project = project
        self._config = config

    def do(self, task: Task) -> Result:
        """The result of one task; a crash in a root is a problem that names the file."""
        trace = Trace()
        self._project.trace_into(trace)
        kind, path, *rest = task
        module = self._project.file(Path(path))
        content = getattr(self, f"_{kind}")(module, *rest)
        read = sorted(path for path, part in trace.parts if part == READABLE)
        unreadable = [each for each in read if not self._project.was_readable(each)]
        basis = packing.pack_trace(trace, self._project, content)
        return {"basis": basis, **content, "unreadable": unreadable}

    def _own(self, module: ModuleFile | None) -> Result:
        from graphlint.analysis import roots, ways

        own = roots.roots_of(module) if module is not None else []
        known = ways.Ways(own)
        return {"roots": [[root.qualname, known.of_own(root), sorted(root.goals)] for root in own]}

    def _callers(self, module: ModuleFile | None, most: int) -> Result:
        found = self._callers_of(module, most) if module is not None else ()
        rows = [[str(root.module.path), root.qualname, way, sorted(root.goals)] for root, way in found]
        return {"roots": rows}

    def _callers_of(self, module: ModuleFile, most: int) -> Iterator[tuple[Root, int]]:
        """The callers that no other marked file runs anyway, and with a larger budget."""
        from graphlint.analysis import callers, given_arguments, roots, ways

        own = roots.roots_of(module)
        known = ways.Ways(own)
        for root in callers.callers_of(self._project, module, own, most):
            way = known.of(root)
            if way is ways.Way.LEADS and given_arguments.waits_for_arguments(root):
                way = ways.Way.CAPTURES  # only when it has come to its end it is run with flags left open
            is_marked = self._project.is_marked(root.module.path)
            if not (is_marked and root in roots.roots_of(root.module)):
                yield root, way

    def _run(
        self, module: ModuleFile | None, qualname: str, steps: int, way: int, goals: Iterable[str]
    ) -> Result:
        """Run a root; where its defaults keep it from what it captures, once more with those left open."""
        from graphlint.analysis import given_arguments, roots

        assert module is not None
        root = roots.named(module, qualname, goals)
        result = self._run_once(root, steps, way)
        came_to_nothing = not (result["captures"] or result["spent"] or result["problems"])
        if came_to_nothing and given_arguments.waits_for_arguments(root):
            again = self._run_once(root, steps, way, open_defaults=True)
            return {**again, "steps": result["steps"] + again["steps"]}
        return result

    def _run_once(self, root: Root, steps: int, way: int, *, open_defaults: bool = False) -> Result:
        from graphlint.analysis import lifecycle, reports
        from graphlint.analysis.budgets import Exhausted
        from graphlint.analysis.machine import Machine
        from graphlint.analysis.rulebook import Rulebook

        rulebook = Rulebook(self._config)
        machine = Machine(self._project, self._config, rulebook.listen, steps)
        machine.budget.wait(way)
        machine.open_defaults = open_defaults
        rulebook.begin(machine)
        problems: list[Problem] = []
        reached, spent = machine.finished, False
        with contained(problems, root.module.display):
            try:
                lifecycle.run(machine, root)
            except Exhausted:
                reached, spent = reports.unfinished(machine, root), True
            rulebook.finish()
        captures = [*reached, *machine.captures]
        reports.say_cuts(machine, root, captures)
        result = {
            **packing.pack(rulebook.findings(), reports.regions_of(captures), problems),
            "captures": bool(captures),
            "spent": spent,
            "steps": machine.steps,
            "is_open": any(map(_is_open, captures)),
        }
        machine.close()
        return result


def _is_open(capture: Capture) -> bool:
    """Whether a region runs what it is given, or nothing at all: its callers decide what is captured."""
    return not (capture.functions or capture.work or capture.resolved) or any(
        "argument" in call.reason for call in capture.unresolved
    )
