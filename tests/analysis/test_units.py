"""Results kept between runs, and shared out over processes, are the results of a plain run."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from graphlint.analysis import Analysis, analyse, units, workers
from graphlint.config import Config
from graphlint.facts import cachefile
from graphlint.facts.project import Project

RUNNER = """
import torch
from helpers import mean_of

class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = mean_of(self.x)
"""
SYNCING = "def mean_of(x):\n    return x / x.sum().item()\n"
HARMLESS = "def mean_of(x):\n    return x / x.sum()\n"


def make(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def run(folder: Path, cache: Path | None = None, jobs: int = 1) -> Analysis:
    project = Project(sorted(folder.glob("*.py")), cwd=folder)
    return analyse(project, Config(root=folder), cache=cache, jobs=jobs)


def codes(analysis: Analysis) -> list[tuple[str, int, str]]:
    return [(f.path, f.span.line, f.code) for f in analysis.findings]


def test_a_second_run_gives_the_same_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING})
    first = run(tmp_path, tmp_path / "cache")
    monkeypatch.setattr(units.Analyst, "do", lambda *_: pytest.fail("nothing has changed"))
    second = run(tmp_path, tmp_path / "cache")
    assert codes(first) == codes(second) == [("helpers.py", 2, "CG302")]
    assert first.regions == second.regions


def test_a_change_in_a_file_that_was_followed_is_seen(tmp_path: Path) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING})
    run(tmp_path, tmp_path / "cache")
    make(tmp_path, {"helpers.py": HARMLESS})
    assert codes(run(tmp_path, tmp_path / "cache")) == []
    make(tmp_path, {"helpers.py": SYNCING})
    assert codes(run(tmp_path, tmp_path / "cache")) == [("helpers.py", 2, "CG302")]


def test_a_change_elsewhere_runs_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING, "other.py": "x = 1\n"})
    run(tmp_path, tmp_path / "cache")
    make(tmp_path, {"other.py": "x = 2\n"})
    monkeypatch.setattr(units.Analyst, "do", lambda *_: pytest.fail("nothing that matters has changed"))
    assert codes(run(tmp_path, tmp_path / "cache")) == [("helpers.py", 2, "CG302")]


def test_a_new_file_that_an_import_now_means_is_seen(tmp_path: Path) -> None:
    make(tmp_path, {"runner.py": RUNNER})
    assert codes(run(tmp_path, tmp_path / "cache")) == []
    make(tmp_path, {"helpers.py": SYNCING})
    assert codes(run(tmp_path, tmp_path / "cache")) == [("helpers.py", 2, "CG302")]


def test_a_broken_cache_is_ignored(tmp_path: Path) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING})
    run(tmp_path, tmp_path / "cache")
    (tmp_path / "cache" / "results.bin").write_bytes(b"graphlint results")
    assert codes(run(tmp_path, tmp_path / "cache")) == [("helpers.py", 2, "CG302")]


def test_processes_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"runner{n}.py": RUNNER for n in range(workers.FEWEST_TASKS + 2)}
    make(tmp_path, {**files, "helpers.py": SYNCING})
    alone = run(tmp_path)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    together = run(tmp_path, jobs=3)
    assert codes(alone) == codes(together) and alone.regions == together.regions
    assert len(alone.regions) == len(files)


def test_a_dead_worker_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {**{f"runner{n}.py": RUNNER for n in range(workers.FEWEST_TASKS)}, "helpers.py": SYNCING})
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(workers.Pool, "_work", lambda *_: os._exit(1))
    assert codes(run(tmp_path, jobs=2)) == [("helpers.py", 2, "CG302")]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.999])
def test_a_cache_cut_off_anywhere_is_ignored(tmp_path: Path, share: float) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING})
    expected = codes(run(tmp_path, tmp_path / "cache"))
    kept = tmp_path / "cache" / "results.bin"
    kept.write_bytes(kept.read_bytes()[: int(share * kept.stat().st_size)])
    assert codes(run(tmp_path, tmp_path / "cache")) == expected


def test_results_of_another_graphlint_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING})
    run(tmp_path, tmp_path / "cache")
    monkeypatch.setattr(cachefile, "_code", lambda: "other code")
    monkeypatch.setattr(units.Analyst, "do", lambda *_: (_ for _ in ()).throw(KeyError("asked again")))
    with pytest.raises(KeyError, match="asked again"):
        run(tmp_path, tmp_path / "cache")


def test_a_framework_that_comes_into_use_makes_results_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {"runner.py": RUNNER, "helpers.py": SYNCING})
    run(tmp_path, tmp_path / "cache")
    make(tmp_path, {"serving.py": "import vllm\n"})
    assert run(tmp_path, tmp_path / "cache").regions == run(tmp_path).regions
    (tmp_path / "serving.py").unlink()
    monkeypatch.setattr(units.Analyst, "do", lambda *_: (_ for _ in ()).throw(KeyError("asked again")))
    with pytest.raises(KeyError, match="asked again"):
        run(tmp_path, tmp_path / "cache")
