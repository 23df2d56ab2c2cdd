"""Whole programs on the virtual device: what is right has no finding, of the linter neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.sentinel_programs import PROGRAMS, ROOT, found, programs

RIGHT = [pytest.param(path, id=path.stem) for path in programs("right", virtual=True)]
WRONG = {
    "accumulated_gradients": "CG201",
    "actions_kept": "CG201",
    "batch_rebound": "CG101",
    "logits_kept": "CG201",
    "model_dropped": "CG103",
}


@pytest.mark.parametrize("path", RIGHT)
def test_a_right_program_has_no_finding(path: Path) -> None:
    assert found(path, "test", virtual=True) == []


@pytest.mark.parametrize(("name", "code"), WRONG.items(), ids=WRONG)
def test_a_wrong_program_has_one(name: str, code: str) -> None:
    assert code in found(PROGRAMS / "wrong" / f"{name}.py", "test", virtual=True)


def test_every_wrong_program_is_run() -> None:
    assert {path.stem for path in programs("wrong", virtual=False)} == WRONG.keys()


def test_the_linter_reports_nothing_on_right_programs() -> None:
    command = [sys.executable, "-m", "graphlint", "check", "--isolated", "--no-cache"]
    run = subprocess.run([*command, "benchmarks/programs/right"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
