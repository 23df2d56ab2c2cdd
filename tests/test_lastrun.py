"""A run over unchanged files gives the last outcome again; whatever may change it is seen."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import graphlint.engine
from graphlint.config import Config
from graphlint.facts import cachefile
from graphlint.report import CheckResult

CAPTURING = """
import torch

def capture(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.sum().item()
"""
LONG_AGO = 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "capture.py", CAPTURING)
    write(tmp_path / "other.py", "X = 1\n")
    return tmp_path


def write(path: Path, text: str, at: int = LONG_AGO) -> None:
    path.write_text(text)
    os.utime(path, (at, at))


def check(folder: Path, **settings: object) -> CheckResult:
    return graphlint.engine.check([folder], replace(Config(root=folder), **settings), jobs=1)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def files_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written here was changed a moment ago: take that for long enough."""
    monkeypatch.setattr("graphlint.lastrun._RACY_NS", -(10**12))


def refuse_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphlint.engine, "_analyse", lambda *_: pytest.fail("nothing has changed"))


def test_unchanged_files_are_not_analysed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = check(folder)
    assert [finding.code for finding in first.findings] and first.regions
    refuse_to_run(monkeypatch)
    second = check(folder)
    assert replace(second, sources=first.sources) == first
    assert second.sources.lines(second.findings[0].path)


def test_a_change_of_any_file_is_seen(folder: Path) -> None:
    before = check(folder)
    write(folder / "capture.py", CAPTURING.replace(".item()", ""), at=LONG_AGO + 1)
    assert check(folder).findings != before.findings


def test_the_same_times_and_another_size_are_a_change(folder: Path) -> None:
    assert check(folder).findings
    write(folder / "capture.py", CAPTURING.replace(".item()", ""))
    assert not check(folder).findings


def test_a_new_and_a_missing_file_are_changes(folder: Path) -> None:
    check(folder)
    write(folder / "new.py", CAPTURING)
    assert {finding.path.rpartition("/")[2] for finding in check(folder).findings} == {"capture.py", "new.py"}
    (folder / "capture.py").unlink()
    assert {finding.path.rpartition("/")[2] for finding in check(folder).findings} == {"new.py"}


def test_another_configuration_is_another_run(folder: Path) -> None:
    codes = [finding.code for finding in check(folder).findings]
    assert check(folder, ignore=tuple(codes)).findings == ()
    assert [finding.code for finding in check(folder).findings] == codes


def test_another_graphlint_is_another_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(folder)
    monkeypatch.setattr(cachefile, "_code", lambda: "other code")
    monkeypatch.setattr(graphlint.engine, "_analyse", lambda *_: (_ for _ in ()).throw(KeyError("asked")))
    assert any("KeyError" in problem.reason for problem in check(folder).problems)


def test_a_crash_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(graphlint.engine, "_analyse", lambda *_: (_ for _ in ()).throw(KeyError("a fault")))
        assert check(folder).problems
    assert check(folder).findings


@pytest.mark.parametrize("damage", [b"", b"graphlint last run 1\n", bytes(1000)])
def test_a_broken_file_is_ignored(folder: Path, damage: bytes) -> None:
    first = check(folder)
    (kept,) = folder.rglob("last.bin")
    kept.write_bytes(damage)
    assert check(folder).findings == first.findings
    kept.write_bytes(kept.read_bytes()[:-7])
    assert check(folder).findings == first.findings


def test_files_as_young_as_the_run_are_not_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphlint.lastrun._RACY_NS", 2_000_000_000)
    check(folder)
    assert not list(folder.rglob("last.bin"))
