"""The command that runs every measurement on a GPU loses nothing when a step fails or does not end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.sentinel_on_gpu import Step, run_all, steps

GOOD = Step("good", ("-c", "print('measured')"), 60)
BAD = Step("bad", ("-c", "print('begun', flush=True); raise SystemExit(3)"), 60)
ENDLESS = Step("endless", ("-c", "import time; print('waits', flush=True); time.sleep(600)"), 3)


def rows(out: Path) -> list[tuple[str, bool, bool]]:
    lines = (out / "steps.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["step"], row["code"] == 0, row["timed_out"]) for row in map(json.loads, lines)]


def test_each_step_ends_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    assert run_all([BAD, ENDLESS, GOOD], tmp_path, 60, 1) == 2
    assert rows(tmp_path) == [("bad", False, False), ("endless", False, True), ("good", True, False)]
    assert (tmp_path / "endless.txt").read_text(encoding="utf-8") == "waits\n"
    assert (tmp_path / "good.txt").read_text(encoding="utf-8") == "measured\n"


def test_only_what_did_not_end_well_is_run_again(tmp_path: Path) -> None:
    run_all([GOOD, BAD], tmp_path, 60, 1)
    run_all([GOOD, BAD], tmp_path, 60, 1)
    assert [name for name, _, _ in rows(tmp_path)] == ["good", "bad", "bad"]


def test_nothing_begins_when_the_time_is_over(tmp_path: Path) -> None:
    assert run_all([GOOD], tmp_path, -1, 1) == 1
    assert not (tmp_path / "steps.jsonl").exists()


def test_every_step_has_a_name_and_a_program_of_its_own() -> None:
    found = steps(virtual=False)
    assert len({step.name for step in found}) == len(found) > 40
    files = [argument for step in found for argument in step.arguments if argument.endswith(".py")]
    assert all(Path(file).is_file() for file in files)
