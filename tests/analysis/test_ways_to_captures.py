"""How near roots are to captures by their text, and how long they may wait for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.analysis import callers, declarations, roots
from graphlint.analysis.budgets import PATIENCE
from graphlint.analysis.machine import Machine
from graphlint.analysis.ways import Way, Ways
from graphlint.config import Config
from graphlint.engine import check
from graphlint.facts.project import Project

RUNNER = """
import torch

class Runner:
    def capture(self):
        with torch.cuda.graph(self.graph):
            self.forward_all()

    def prepare(self):
        self.capture()

    def name(self):
        return "runner"

class Eager:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.graph(self.graph).__enter__()

class Launcher:
    def launch(self, graph):
        graph.replay()

def build():
    return Runner()
"""
CALLERS = """
from runner import Eager, Launcher, Runner

class Heir(Runner):
    pass

def prepared():
    Runner().prepare()

def makes_what_captures():
    return Eager()

def launched(launcher: Launcher, graph):
    launcher.launch(graph)

def named():
    return Runner().name()

def prepared_elsewhere():
    prepared()
"""


def _ways(folder: Path) -> dict[str, Way]:
    paths = [folder / "runner.py", folder / "callers.py"]
    for path, text in zip(paths, (RUNNER, CALLERS), strict=True):
        path.write_text(text, encoding="utf-8")
    project = Project(paths)
    declarations.take(project, Config(root=folder))
    module = project.file(paths[0])
    assert module is not None
    own = roots.roots_of(module)
    known = Ways(own)
    ways = {root.qualname: known.of_own(root) for root in own}
    return ways | {root.qualname: known.of(root) for root in callers.callers_of(project, module, own, 12)}


def test_the_text_tells_how_near_a_capture_is(tmp_path: Path) -> None:
    assert _ways(tmp_path) == {
        "Runner": Way.CAPTURES,
        "Eager": Way.CAPTURES,
        "Launcher": Way.LEADS,
        "build": Way.LEADS,
        "Heir": Way.CAPTURES,
        "prepared": Way.LEADS,
        "makes_what_captures": Way.LEADS,
        "launched": Way.LEADS,
        "named": Way.NAMES,
        "prepared_elsewhere": Way.LEADS,
    }


FAR = """
import torch

class Runner:
    def capture(self):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            pass
"""
LONG = """
from runner import Runner

def {name}(rows):
    runner = Runner()
{work}
    {last}
"""


@pytest.mark.parametrize(("last", "way"), [("runner.capture()", Way.LEADS), ("return runner", Way.NAMES)])
def test_who_merely_names_what_captures_waits_for_a_shorter_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, way: Way
) -> None:
    steps: list[int] = []
    close = Machine.close

    def closing(machine: Machine) -> None:
        steps.append(machine.steps)
        close(machine)

    monkeypatch.setattr(Machine, "close", closing)
    work = "\n".join(f"    rows = rows + {number}" for number in range(PATIENCE[Way.NAMES] // 3 + 1_000))
    (tmp_path / "runner.py").write_text(FAR, encoding="utf-8")
    (tmp_path / "main.py").write_text(LONG.format(name="serve", work=work, last=last), encoding="utf-8")
    check([tmp_path], Config(root=tmp_path), use_cache=False, jobs=1)
    assert (max(steps) > PATIENCE[Way.NAMES] + 2_000) is (way is Way.LEADS)
