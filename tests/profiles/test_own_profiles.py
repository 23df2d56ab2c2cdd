"""Profiles that users write, and how the configuration chooses among all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.analysis import analyse, frameworks
from graphlint.config import Config, ConfigError, config_from, load_config
from graphlint.engine import check
from graphlint.facts.project import Project
from graphlint.profiles import profile_from
from tests.programs import check_marked_rules, findings, unresolved

ENGINE = profile_from(
    {
        "recognise": ["engine"],
        "captured": ["engine:Step.run", "engine:@recorded.play", "engine:record_*"],
        "never": ["engine:Slow*.*", "engine:record_nothing"],
        "guards": ["engine:recording", "engine:State.is_recording"],
        "holes": ["engine:@outside", "engine:Step.report"],
        "assume": {"engine:State.mode": "fast", "engine:State.is_slow": False},
    },
    "engine",
)
PROGRAM = {
    "engine/__init__.py": """
import torch


class State:
    def __init__(self, mode: str):
        self.mode = mode

    def is_recording(self):
        return self.mode

    def is_slow(self):
        return self.mode


def recording():
    return False


def record_all(x: torch.Tensor):
    return x.sum().item()  # expect: CG302


def record_nothing(x: torch.Tensor):
    return x.sum().item()  # ok: CG302
""",
    "steps.py": """
import engine
import torch
from engine import State, Step, outside, recorded, recording


@outside
def aside(x: torch.Tensor):
    return x.sum().item()  # ok: CG302


class Mine(Step):
    def report(self, x: torch.Tensor):
        return x.sum().item()  # ok: CG302

    def run(self, x: torch.Tensor, state: State):
        self.report(x)
        aside(x)
        if not recording() or not state.is_recording():
            x.sum().item()  # ok: CG302
        if state.mode == "slow" or state.is_slow():
            x.sum().item()  # ok: CG302
        return x.sum().item()  # expect: CG302


class Further(Mine):
    def run(self, x: torch.Tensor, state: State):
        return x.max().item()  # expect: CG302


class SlowStep(engine.Step):
    def run(self, x: torch.Tensor):
        return x.max().item()  # expect: CG302


@recorded
class Player:
    def play(self, x: torch.Tensor):
        return x.max().item()  # expect: CG302


class Stranger:
    def run(self, x: torch.Tensor):
        return x.max().item()  # ok: CG302
""",
}


def test_a_profile_of_a_user() -> None:
    check_marked_rules(PROGRAM, own_profiles=(ENGINE,))


def test_classes_of_the_package_itself_are_named_directly() -> None:
    check_marked_rules(
        {
            "engine/__init__.py": """
import torch


class Step:
    def run(self, x: torch.Tensor):
        return x.max().item()  # expect: CG302


class SlowStep(Step):
    def run(self, x: torch.Tensor):
        return x.min().item()  # ok: CG302
"""
        },
        own_profiles=(ENGINE,),
    )


PLATFORM = {
    "engine/__init__.py": """
def __getattr__(name):
    return find(name)()
""",
    "engine/gpu.py": """
class Gpu:
    def is_slow(self):
        return False

    def stream(self):
        return None


def stream():
    return find("stream")
""",
    "main.py": """
import torch
from engine import platform
from engine.gpu import stream

x = torch.zeros(4, device="cuda")
side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    if platform.is_slow():
        x.item()  # ok: CG302
    side.wait_stream(stream())
    with torch.cuda.stream(side):
        x.add_(1)
    stream().wait_stream(side)  # ok: CG506
""",
}


def test_what_a_name_stands_for() -> None:
    meant = {"engine:platform": "engine.gpu:Gpu", "engine.gpu:stream": "torch.cuda.current_stream"}
    profile = profile_from({"recognise": ["engine"], "stands_for": meant}, "engine")
    check_marked_rules(PLATFORM, own_profiles=(profile,))
    assert unresolved(PLATFORM, own_profiles=(profile,)) == set()
    assert unresolved(PLATFORM) != set()


def test_what_is_not_followed_gives_what_its_annotation_says() -> None:
    program = {
        "engine/__init__.py": """
import torch


def load_model(path) -> torch.nn.Linear:
    raise RuntimeError(path)
""",
        "main.py": """
import torch
from engine import load_model

model = load_model("a")
x = torch.zeros(4, device="cuda")
model(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    model(x).sum().item()  # expect: CG302
""",
    }
    profile = profile_from({"recognise": ["engine"], "unfollowed": ["engine:load_model"]}, "engine")
    check_marked_rules(program, own_profiles=(profile,))


def test_it_can_be_left_out() -> None:
    assert not findings(PROGRAM, own_profiles=(ENGINE,), profiles=("vllm",))


def test_a_profile_is_read_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.graphlint]\nprofiles = ["engine", "vllm"]\n'
        '[tool.graphlint.profile.engine]\ncaptured = ["engine:Step.run"]\n'
    )
    config = load_config([tmp_path])
    assert config.profiles == ("engine", "vllm")
    assert [profile.name for profile in config.own_profiles] == ["engine"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"profiles": ["vlm"]}, "did you mean `vllm`"),
        ({"profiles": "vllm"}, "must be a list of strings"),
        ({"profile": {"mine": {"captured": ["no pattern"]}}}, "is not of the form"),
        ({"profile": {"mine": {"capture": []}}}, "did you mean `captured`"),
        ({"profile": {"mine": {"device": "moon"}}}, "must be one of"),
        ({"profile": {"mine": {"assume": {"a:b": []}}}}, "boolean, number or string"),
        ({"profile": {"mine": {"operators": [{"function": "a:b"}]}}}, "has no `namespace`"),
        ({"profile": {"mine": {"stands_for": {"a:b": 1}}}}, "must name a class or function"),
        ({"profile": {"mine": {"stands_for": {"a:b": "c:d e"}}}}, "is not of the form"),
        ({"profile": {"mine": {"stands_for": []}}}, "must be a table"),
        ({"profile": {"mine": []}}, "must be a table"),
        ({"profile": {"mine": {"captured": ["a:b"]}}}, "nothing switches profile `mine` on: .*`recognise`"),
        ({"profile": {"mine": {"recognise": []}}}, "nothing switches profile `mine` on"),
        ({"profile": []}, "must be a table of tables"),
    ],
)
def test_what_is_wrong_with_a_profile_is_said(table: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_from(table, Path("pyproject.toml"))


@pytest.mark.parametrize(
    "table",
    [
        {"profile": {"mine": {"recognise": ["engine"]}}},
        {"profile": {"mine": {}}, "profiles": ["mine"]},
        {"profile": {"mine": {}}, "profiles": []},
        {"profile": {"vllm": {}}},
    ],
    ids=["recognised", "chosen", "off by choice", "in place of one of graphlint"],
)
def test_what_need_not_be_recognised(table: dict[str, object]) -> None:
    assert config_from(table, Path("pyproject.toml")).own_profiles


IDLE = {
    "recognise": ["engine"],
    "captured": ["engine:Step.run", "engine:Step.rnu", "engine.clock:tikc", "engnie:@recorded"],
    "guards": ["engine:recording", "engine:recordign", "library:is_recording"],
}
PACKAGE = {
    "engine/__init__.py": "from engine.clock import tick\n\n\ndef recording():\n    return False\n",
    "engine/clock.py": "def tick():\n    return 1\n",
    "steps.py": "import engine\n\n\nclass Mine(engine.Step):\n    def run(self, x):\n        return x\n",
}


@pytest.mark.parametrize(
    ("paths", "reported"),
    [
        (["."], ["engine.clock:tikc", "engine:Step.rnu", "engine:recordign", "engnie:@recorded"]),
        (["engine"], ["engine.clock:tikc"]),
        (["steps.py"], []),
    ],
)
def test_entries_that_name_no_function_are_reported(
    tmp_path: Path, paths: list[str], reported: list[str]
) -> None:
    lists = "".join(f"{key} = [\n" + "".join(f'"{e}",\n' for e in IDLE[key]) + "]\n" for key in IDLE)
    table = f'[tool.graphlint]\nselect = ["CG903"]\n[tool.graphlint.profile.mine]\n{lists}'
    for name, text in {**PACKAGE, "pyproject.toml": table}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = check([tmp_path / path for path in paths], load_config([tmp_path]), use_cache=False, jobs=1)
    assert sorted(each.message.split("`")[3] for each in result.findings) == reported
    assert all("of profile `mine`" in each.message for each in result.findings)


@pytest.mark.parametrize(
    ("recognise", "captured", "reported"),
    [
        (["engnie"], "engine:Step.run", ["engnie"]),
        (["engnie", "engine"], "engine:Step.run", []),
        (["motor"], "motor:Step.run", []),
    ],
)
def test_a_profile_that_nothing_switches_on_though_its_entries_are_there(
    recognise: list[str], captured: str, reported: list[str]
) -> None:
    profile = profile_from({"recognise": recognise, "captured": [captured]}, "mine")
    found = findings(PACKAGE, own_profiles=(profile,), select=("CG903",))
    assert [each.message.split("`")[3] for each in found if "recognise" in each.message] == reported


def test_a_profile_that_is_not_in_force_is_not_judged() -> None:
    assert not findings("x = 1\n", own_profiles=(profile_from(IDLE, "mine"),), select=("CG903",))


STEP = "import engine, torch\nclass Step(engine.Step):\n    def run(self, x: torch.Tensor):\n        return x.max().item()\n"


def _analysed(folder: Path, config: Config) -> list[tuple[str, str]]:
    project = Project(sorted(folder.glob("*.py")), cwd=folder)
    found = analyse(project, config, cache=folder / "cache", jobs=1).findings
    return [(each.path, each.code) for each in found if each.code != "CG903"]


def test_kept_results_hold_for_the_same_profiles_only(tmp_path: Path) -> None:
    (tmp_path / "step.py").write_text(STEP)
    with_it = Config(root=tmp_path, own_profiles=(ENGINE,))
    assert _analysed(tmp_path, with_it) == [("step.py", "CG302")]
    assert _analysed(tmp_path, Config(root=tmp_path, profiles=())) == []
    assert _analysed(tmp_path, with_it) == [("step.py", "CG302")]


def test_what_a_profile_adds_is_bounded_and_the_rest_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frameworks, "MOST_UNITS", 2)
    for number in range(4):
        (tmp_path / f"step{number}.py").write_text(STEP)
    project = Project(sorted(tmp_path.glob("*.py")), cwd=tmp_path)
    found = analyse(project, Config(root=tmp_path, own_profiles=(ENGINE,)), jobs=1).findings
    assert [each.path for each in found if each.code == "CG302"] == ["step0.py", "step1.py"]
    notes = [each for each in found if each.code == "CG903" and "left out" in each.message]
    assert [each.path for each in notes] == ["step2.py"]
    assert "this file and 1 other" in notes[0].message
