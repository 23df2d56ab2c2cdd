"""The same findings, byte for byte, however a run is cut up, cached and started."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

import graphlint.engine
from graphlint.analysis import analyse, units, workers
from graphlint.analysis.workers import Pool
from graphlint.config import Config
from graphlint.facts.project import Project
from graphlint.finding import Confidence, Level
from graphlint.formats import format_named
from graphlint.formats.style import tty_style
from graphlint.report import report_of

STEP = """
import torch
from model import Model

class Stepper{n}:
    def __init__(self, model: Model):
        self.model = model
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        self.model(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def run(self, x):
        self.x = x
        self.graph.replay()
        return self.y
"""
MODEL = """
import torch

class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        print(x.sum().item())
        return x + 1
"""
# What several captures are called by, itself no file with a mark.
CALLER = """
from model import Model
from step0 import Stepper0
from step1 import Stepper1

def serve():
    for stepper in (Stepper0(Model()), Stepper1(Model())):
        stepper.capture()
"""
# A caller of another capture that is a unit of its own.
MARKED_CALLER = """
import torch
from model import Model
from step2 import Stepper2

def record(model: Model):
    stepper = Stepper2(model)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stepper.model(stepper.x)
    graph.replay()
"""
UNITS = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    files = {f"step{n}.py": STEP.format(n=n) for n in range(UNITS)}
    files |= {"model.py": MODEL, "caller.py": CALLER, "marked.py": MARKED_CALLER}
    for name, text in files.items():
        (made / name).write_text(text)
    (made / "pyproject.toml").write_text("[tool.graphlint]\n")
    return made


def output(folder: Path, *, jobs: int, use_cache: bool = False) -> str:
    """Findings and regions as the commands print them, run from inside the folder."""
    result = graphlint.engine.check([Path()], Config(root=folder), use_cache=use_cache, jobs=jobs)
    report = report_of(result, Level.NOTE, Confidence.POSSIBLE)
    printed: Iterator[str] = format_named("json")(report, tty_style(is_terminal=False, quiet=False))
    return "".join(printed) + json.dumps([asdict(region) for region in result.regions])


def test_any_number_of_jobs_and_any_state_of_the_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    expected = output(folder, jobs=1)
    assert expected.count("CG302") >= 1
    assert UNITS >= workers.FEWEST_TASKS
    for jobs in (2, 3, 8):
        assert output(folder, jobs=jobs) == expected
    for jobs in (2, 1, 2):  # cold, warm, warm
        assert output(folder, jobs=jobs, use_cache=True) == expected


def test_modules_that_are_forgotten_and_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    expected = output(folder, jobs=1)
    monkeypatch.setattr(workers, "MOST_PARSED", 0)
    assert output(folder, jobs=1) == output(folder, jobs=2) == expected


def test_two_runs_at_once(folder: Path) -> None:
    """Both find what one alone finds, whatever each reads of what the other has just kept."""
    command = [sys.executable, "-m", "graphlint", "check", "--output-format", "json", "."]
    alone = subprocess.run([*command, "--no-cache"], cwd=folder, capture_output=True, text=True)
    for _ in range(2):  # cold and warm
        runs = [subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        outputs = {run.communicate()[0] for run in runs}
        assert outputs == {alone.stdout}


def test_a_cache_half_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    output(folder, jobs=2, use_cache=True)
    for name in ("caller.py", "step3.py", "model.py", "marked.py"):
        path = folder / name
        path.write_text(path.read_text() + "\nADDED = 1\n")
        assert output(folder, jobs=1, use_cache=True) == output(folder, jobs=2)


def test_any_order_of_the_files(folder: Path) -> None:
    paths = sorted(folder.glob("*.py"))
    expected = analyse(Project(paths, cwd=folder), Config(root=folder), jobs=1)
    for seed in range(3):
        random.Random(seed).shuffle(paths)
        found = analyse(Project(paths, cwd=folder), Config(root=folder), jobs=1)
        assert (found.findings, found.regions) == (expected.findings, expected.regions)


def test_tasks_in_any_order_in_one_process(folder: Path) -> None:
    """What one task leaves behind in a process (parsed files, kept searches) changes nothing for another."""
    project, config = Project(sorted(folder.glob("*.py")), cwd=folder), Config(root=folder)
    tasks: list[units.Task] = []

    def do(asked: list[units.Task]) -> dict[units.Task, units.Result]:
        tasks.extend(asked)
        return Pool(project, config, jobs=1).do(asked)

    units.run_all(project.marked_paths(), do)
    assert {task[0] for task in tasks} == {"own", "run", "callers"}
    expected: dict[units.Task, units.Result] = {}
    for seed in range(4):
        random.Random(seed).shuffle(tasks)
        again = Project(sorted(folder.glob("*.py")), cwd=folder)
        found = Pool(again, config, jobs=1).do(tasks)
        expected = expected or found
        assert found == expected


def test_any_working_folder(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the paths shown depend on where graphlint is started and on where the project lies."""
    moved = tmp_path / "elsewhere" / "project"
    shutil.copytree(folder, moved)
    outputs = []
    for place, prefix in ((folder, ""), (moved, ""), (folder.parent, "project/")):
        monkeypatch.chdir(place)
        root = place / prefix
        result = graphlint.engine.check([root], Config(root=root), use_cache=False)
        outputs.append([(f.path.removeprefix(prefix), f.span, f.code, f.message) for f in result.findings])
    assert outputs[0]
    assert outputs[0] == outputs[1] == outputs[2]
