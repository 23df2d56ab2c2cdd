"""A later run finds, byte for byte, what a first run over the same files finds; and it does little for it."""

from __future__ import annotations

import os
import random
from dataclasses import asdict
from pathlib import Path
from textwrap import dedent

import pytest

from graphlint.analysis import units
from graphlint.config import Config
from graphlint.engine import check
from graphlint.report import CheckResult
from tests.edits import PROGRAM, Project

# Sequences of edits, and edits in each. Long sequences are for whoever works on what is kept between runs.
SEQUENCES = int(os.environ.get("GRAPHLINT_EDIT_SEQUENCES", "2"))
LENGTH = int(os.environ.get("GRAPHLINT_EDITS", "12"))


def _outcome(result: CheckResult) -> object:
    return [
        [asdict(each) for each in result.findings],
        [asdict(each) for each in result.regions],
        [asdict(each) for each in result.problems],
        asdict(result.summary),
        [asdict(each) for each in result.unneeded],
    ]


def _places(folder: Path) -> dict[str, str]:
    """The files of one small project of the rules' tests, in a folder of its own."""
    return {f"{folder.name}/{path.name}": path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_after_any_edits_a_later_run_finds_what_a_first_one_does(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    texts = {path: dedent(text) for path, text in PROGRAM.items()}
    if seed % 2:
        for folder in dice.sample(sorted((Path(__file__).parent / "places").iterdir()), 3):
            texts |= _places(folder)
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path, texts)
    config = Config(root=tmp_path)
    done: list[str] = []
    for _ in range(LENGTH):
        later = _outcome(check([tmp_path], config, jobs=1))
        assert later == _outcome(check([tmp_path], config, jobs=1, use_cache=False)), f"after {done[-3:]}"
        done.append(project.edit(dice))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, {path: dedent(text) for path, text in PROGRAM.items()})


def _tasks(project: Project, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """The tasks that a run does anew: what kind, and of which file or root."""
    done = set()
    usual = units.Analyst.do

    def do(self: units.Analyst, task: units.Task) -> units.Result:
        name = task[2] if task[0] == "run" else Path(task[1]).relative_to(project.folder).as_posix()
        done.add((task[0], name))
        return usual(self, task)

    with monkeypatch.context() as patched:
        patched.setattr(units.Analyst, "do", do)
        check([project.folder], Config(root=project.folder), jobs=1)
    return done


def _replaced(project: Project, path: str, old: str, new: str) -> None:
    assert old in project.texts[path]
    project.write(path, project.texts[path].replace(old, new))


# An edit (file, what is replaced, by what), and the roots that have to be run again.
EDITS = [
    pytest.param("serving/settings.py", "import os", "# A comment.\n\nimport os", set(), id="comment"),
    pytest.param("serving/settings.py", "hidden {self", "width {self", set(), id="function nobody runs"),
    pytest.param("serving/settings.py", "DEBUG = False", "DEBUG = True", set(), id="constant nobody reads"),
    pytest.param(
        "serving/settings.py",
        "PADDED = 8",
        "PADDED = 4",
        {"Runner", "build", "serve"},
        id="constant that some read",
    ),
    pytest.param(
        "serving/helpers.py", "print(", "log(", {"Runner", "build", "serve"}, id="function that some run"
    ),
    pytest.param("training/optim.py", "RATE = 0.1", "RATE = 0.2", {"train"}, id="leaf"),
    pytest.param(
        "training/optim.py", "import torch", "import torch\n# made_optimizer, train", set(), id="words"
    ),
]


@pytest.mark.parametrize(("path", "old", "new", "expected"), EDITS)
def test_only_the_roots_that_looked_at_a_change_are_run_again(
    program: Project, path: str, old: str, new: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _tasks(program, monkeypatch)
    assert {"Runner", "Single", "serve", "train"} <= {name for kind, name in first if kind == "run"}
    _replaced(program, path, old, new)
    assert {name for kind, name in _tasks(program, monkeypatch) if kind == "run"} == expected
