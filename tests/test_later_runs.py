"""A later run finds, byte for byte, what a first run over the same files finds; and it does little for it."""

from __future__ import annotations

import os
import random
from dataclasses import asdict
from pathlib import Path
from textwrap import dedent

import pytest

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
