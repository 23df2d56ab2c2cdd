"""What a run does, counted instead of timed: steps of the machine and files parsed, the same on every computer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from graphlint.analysis.machine import Machine
from graphlint.config import Config
from graphlint.engine import check
from graphlint.facts.modules import ModuleFile
from graphlint.facts.project import Project

CONFIG = """
from dataclasses import dataclass, field

from .devices import platform

@dataclass
class CacheConfig:
    block: int = 16
    blocks: int = 0

    def __post_init__(self):
        for size in range(8):
            if self.block == size:
                self.blocks += size
        self.kind = platform().kind

@dataclass
class EngineConfig:
    cache: CacheConfig = field(default_factory=CacheConfig)
    layers: int = 4

    def __post_init__(self):
        for layer in range(self.layers):
            if layer == self.cache.block:
                self.layers += 1
"""
DEVICES = """
import torch

class Platform:
    def __init__(self, kind):
        self.kind = kind
        self.names = {name: len(name) for name in ("cuda", "cpu", "xpu", "npu")}

def platform():
    return Platform("cuda" if torch.cuda.is_available() else "cpu")
"""
LAYERS = """
import torch

class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.second = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))
"""
RUNNER = """
import torch

from .config import EngineConfig
from .layers import Layer

class Runner{number}:
    def __init__(self, config: EngineConfig):
        self.layers = [Layer(64) for _ in range(config.layers)]
        self.static = torch.zeros(8, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def capture(self):
        self.forward(self.static)
        with torch.cuda.graph(self.graph):
            self.out = self.forward(self.static)

    def run(self, x):
        self.static.copy_(x)
        self.graph.replay()
        return self.out
"""
CALLER = """
from .config import EngineConfig
from .runner{number} import Runner{number}

def serve{number}(x):
    runner = Runner{number}(EngineConfig())
    runner.capture()
    return runner.run(x)
"""
UNRELATED = """
import json

class Report{number}:
    def __init__(self, rows):
        self.rows = rows

    def text(self):
        return json.dumps([row for row in self.rows if row])
"""


@dataclass
class Work:
    """What a run has done: the steps of each root in turn, and the files parsed, each as often as it was."""

    steps: list[int] = field(default_factory=list)
    parsed: list[str] = field(default_factory=list)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts what every run of the test does from now on."""
    counted = Work()
    close, parse = Machine.close, Project._parse

    def closing(machine: Machine) -> None:
        counted.steps.append(machine.steps)
        close(machine)

    def parsing(project: Project, path: str) -> ModuleFile | None:
        counted.parsed.append(Path(path).name)
        return parse(project, path)

    monkeypatch.setattr(Machine, "close", closing)
    monkeypatch.setattr(Project, "_parse", parsing)
    return counted


def _project(folder: Path, *, runners: int, unrelated: int = 10) -> Path:
    files = {"__init__.py": "", "config.py": CONFIG, "devices.py": DEVICES, "layers.py": LAYERS}
    for number in range(runners):
        files[f"runner{number}.py"] = RUNNER.replace("{number}", str(number))
        files[f"caller{number}.py"] = CALLER.replace("{number}", str(number))
    for number in range(unrelated):
        files[f"report{number}.py"] = UNRELATED.replace("{number}", str(number))
    package = folder / "engine"
    package.mkdir()
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    return folder


def _run(folder: Path, work: Work, **options: Any) -> Work:
    work.steps, work.parsed = [], []
    result = check([folder], Config(root=folder, **options), use_cache=False, jobs=1)
    assert not result.problems
    return Work(work.steps, work.parsed)


def test_more_rules_cost_neither_steps_nor_parses(tmp_path: Path, work: Work) -> None:
    folder = _project(tmp_path, runners=3)
    one, every = _run(folder, work, select=("CG302",)), _run(folder, work)
    assert (one.steps, one.parsed) == (every.steps, every.parsed)
    assert every.steps


def test_no_file_is_parsed_twice_and_none_that_nobody_needs(
    tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphlint.engine.MOST_UNNEEDED_BYTES", 0)
    done = _run(_project(tmp_path, runners=3, unrelated=30), work)
    assert len(done.parsed) == len(set(done.parsed))
    assert not [name for name in done.parsed if name.startswith("report")]


def test_files_that_nobody_needs_cost_no_steps(tmp_path: Path, work: Work) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    few = _run(_project(tmp_path / "few", runners=2, unrelated=2), work)
    many = _run(_project(tmp_path / "many", runners=2, unrelated=60), work)
    assert few.steps == many.steps


def test_steps_grow_with_the_regions_and_no_faster(tmp_path: Path, work: Work) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "eight").mkdir()
    two = _run(_project(tmp_path / "two", runners=2), work)
    eight = _run(_project(tmp_path / "eight", runners=8), work)
    assert sum(eight.steps) <= 4 * sum(two.steps)


# A runner and its caller took 727 steps when this was written. Whoever makes the machine go on where it
# stopped before learns here what it costs; where the steps are worth it, the number is raised.
MOST_STEPS = 850


def test_a_runner_and_its_caller_take_a_known_number_of_steps(tmp_path: Path, work: Work) -> None:
    assert sum(_run(_project(tmp_path, runners=1), work).steps) <= MOST_STEPS


IDLE_CALLER = """
from .runner0 import Runner0

def count{number}(rows):
    made = [Runner0 for row in rows]
    for size in range(8):
        if len(made) == size:
            rows = rows[size:]
    return len(rows)
"""


@pytest.mark.parametrize("text, most", [(CALLER, 5), (IDLE_CALLER, 3)])
def test_callers_that_come_to_nothing_end_the_search_for_more(
    text: str, most: int, tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _project(tmp_path, runners=1)
    for number in range(4):
        caller = text.replace("Runner{number}", "Runner0").replace("runner{number}", "runner0")
        (folder / "engine" / f"caller{number}.py").write_text(caller.replace("{number}", str(number)))
    every = _run(folder, work).steps
    assert len(every) == 5  # the runner and its four callers
    monkeypatch.setattr("graphlint.analysis.units.STEPS_FOR_NOTHING", every[1] + 1)
    assert _run(folder, work).steps == every[:most]


BACKEND = """
import torch

class Backend:
    def __init__(self, rows: int):
        self.rows = torch.zeros(rows, device="cuda")
        self.graph = None

    def decode(self, x: torch.Tensor):  # graphlint: captured
        return x + self.rows

    def prefill(self, x: torch.Tensor):
        for row in range(8):
            x = torch.relu(x * row) + self.rows[row] * (x - row)
        return x
{more}
"""
REPLAYS = """
    def capture(self, x: torch.Tensor):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.decode(x)

    def replay(self):
        self.graph.replay()
"""


def test_after_the_last_declared_capture_an_object_is_not_stepped(tmp_path: Path, work: Work) -> None:
    file = tmp_path / "backend.py"
    file.write_text(BACKEND.replace("{more}", ""))
    alone = _run(tmp_path, work).steps
    file.write_text(BACKEND.replace("{more}", REPLAYS))
    assert sum(alone) <= 40
    assert sum(_run(tmp_path, work).steps) > 5 * sum(alone)  # what is replayed is followed on


TUNED = """
import torch

BEST: dict[str, tuple[int, int]] = {
{entries}
}

def choose(name: str, fast: bool):
    return BEST[name] if fast else BEST["0"]

def capture(x: torch.Tensor, name: str, fast: bool):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + choose(name, fast)[0]
    return graph, y
"""


def test_tables_are_evaluated_up_to_a_length(tmp_path: Path, work: Work) -> None:
    def steps(entries: int) -> int:
        table = "\n".join(f'    "{n}": ({n}, {n + 1}),' for n in range(entries))
        (tmp_path / "tuned.py").write_text(TUNED.replace("{entries}", table))
        return sum(_run(tmp_path, work).steps)

    assert steps(300) - steps(100) == 800  # a key, a tuple and two numbers for each entry
    assert steps(4_000) == steps(1_000) < steps(100)
