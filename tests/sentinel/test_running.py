"""`graphlint run --virtual`: what is told of a program, and which exit code that gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from graphlint.cli import cli
from graphlint.sentinel import running
from graphlint.sentinel.programs import Program
from graphlint.sentinel.running import Launch
from graphlint.sentinel.settings import Request
from tests.test_sarif import SARIF

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs" / "schema" / "check.json"
WRONG = """\
import sys
import torch

class Engine:
    def __init__(self):
        self.x = torch.ones(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def step(self):
        self.x = self.x + 1
        self.graph.replay()

engine = Engine()
for _ in range(3):
    engine.step()
print("done", sys.argv)
"""
RIGHT = WRONG.replace("self.x = self.x + 1", "self.x.add_(1)")

Run = Callable[..., int]


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a program on the virtual device in this process, which has to go on afterwards."""
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    monkeypatch.setattr(running, "_wait_for_threads", lambda: None)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])

    def run_program(text: str, *, files: tuple[tuple[str, Path], ...] = ()) -> int:
        (project / "program.py").write_text(text, encoding="utf-8")
        request = Request("watch", virtual=True)
        return running.run(Launch(Program("program.py", ("--fast",)), request, files))

    return run_program


def test_what_happened_is_told_after_the_programs_own_output(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(WRONG) == 1
    told = capfd.readouterr()
    assert told.out == "done ['program.py', '--fast']\n"
    lines = told.err.splitlines()
    assert "error: CG101 [rebound-static-input]" in lines[0]
    assert any(line.strip().startswith("captured  program.py:") for line in lines)
    assert any(line.strip().startswith("replayed  program.py:13") for line in lines)
    assert lines[-1] == "1 finding: 1 error (mode watch, 1 graph, 3 replays)"


def test_a_right_program_has_its_own_exit_code(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(RIGHT) == 0
    assert capsys.readouterr().err == "No findings (mode watch, 1 graph, 3 replays)\n"
    assert run(f"{RIGHT}\nsys.exit(5)") == 5


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(0)", 1), ("sys.exit(3)", 3), ("sys.exit('why')", 1), ("1 / 0", 1)]
)
def test_a_program_that_fails_keeps_its_exit_code(
    run: Run, capsys: pytest.CaptureFixture[str], end: str, code: int
) -> None:
    assert run(f"{WRONG}\n{end}") == code
    assert "1 finding: 1 error" in capsys.readouterr().err


def test_an_interrupted_program_is_told_of_and_ends_as_interrupted(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(KeyboardInterrupt):
        run(f"{WRONG}\nraise KeyboardInterrupt")
    told = capsys.readouterr().err
    assert told.index("KeyboardInterrupt") < told.index("1 finding: 1 error")
    assert told.count("Traceback") == 1


def test_reports_go_to_files_wherever_the_program_goes(run: Run, project: Path) -> None:
    (project / "below").mkdir()
    files = (("json", Path("out.json")), ("sarif", Path("out.sarif")))
    assert run(f"import os\nos.chdir('below')\n{WRONG}", files=files) == 1
    document = json.loads((project / "out.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [(each["code"], each["path"]) for each in document["findings"]] == [("CG101", "program.py")]
    sarif = json.loads((project / "out.sarif").read_text(encoding="utf-8"))
    jsonschema.validate(sarif, SARIF)
    assert sarif["runs"][0]["results"][0]["ruleId"] == "CG101"


def test_a_file_that_cannot_be_written_is_trouble(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(RIGHT, files=(("json", Path("absent/out.json")),)) == 2
    assert "out.json: cannot be written: No such file or directory" in capsys.readouterr().err


def test_the_project_may_allow_a_finding(run: Run, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = "{{code = '{}', where = 'program.py:Engine.step', reason = 'a demonstration'}}"
    allow = f"[tool.graphlint.sentinel]\nallow = [{entry.format('CG101')}, {entry.format('CG201')}]\n"
    (project / "pyproject.toml").write_text(allow, encoding="utf-8")
    assert run(WRONG) == 0
    assert capsys.readouterr().err == (
        "No findings; 1 allowed (mode watch, 1 graph, 3 replays)\n"
        "graphlint: allowed and not found in this run: CG201 in `program.py:Engine.step` (a demonstration)\n"
    )


def test_settings_that_cannot_be_used_keep_the_program_from_running(
    run: Run, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").write_text("[tool.graphlint.sentinel]\nallow = [1]\n", encoding="utf-8")
    assert run(WRONG) == 2
    told = capsys.readouterr()
    assert told.out == "" and "`allow` entry 1 must have exactly the keys" in told.err


def test_the_virtual_device_beside_a_gpu_is_refused_in_its_own_words(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert run(RIGHT) == 2
    assert capsys.readouterr().err.startswith("graphlint: there is a GPU on this machine")


def test_a_crash_of_the_sentinel_is_not_the_programs(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> int:
        raise ValueError("our own fault")

    monkeypatch.setattr(running.Telling, "tell", crash)
    assert run(f"{RIGHT}\nsys.exit(5)") == 5
    assert run(RIGHT) == 2
    assert "internal error, please report it: ValueError: our own fault" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'PROGRAM'"),
        (("--mode", "all", "x.py"), "'all' is not one of 'watch', 'canary', 'test'"),
        (("--fast", "x.py"), "No such option '--fast'"),
    ],
)
def test_wrong_usage_says_so(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli, ["run", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr.replace(": --fast", " '--fast'")


def test_the_environment_variable_says_what_options_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Launch] = []

    def remember(launch: Launch) -> int:
        launched.append(launch)
        return 0

    monkeypatch.setattr(running, "run", remember)
    for words, options in (
        ("test,virtual", ()),
        ("test", ("--mode", "canary", "--virtual", "-m")),
        ("", ()),
    ):
        monkeypatch.setenv("GRAPHLINT_SENTINEL", words)
        assert CliRunner().invoke(cli, ["run", *options, "x", "--mode", "y"]).exit_code == 0
    assert [launch.request for launch in launched] == [
        Request("test", True),
        Request("canary", True),
        Request("watch", False),
    ]
    assert {launch.program.arguments for launch in launched} == {("--mode", "y")}
    assert [launch.program.is_module for launch in launched] == [False, True, False]
    monkeypatch.setenv("GRAPHLINT_SENTINEL", "tset")
    result = CliRunner().invoke(cli, ["run", "x"])
    assert (result.exit_code, "did you mean `test`?" in result.stderr) == (2, True)


def test_a_program_that_something_else_starts_is_watched_by_one_line(project: Path) -> None:
    pytest.importorskip("torch")
    (project / "program.py").write_text(f"import graphlint.sentinel.auto\n{WRONG}", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHLINT_SENTINEL": "watch,virtual"}
    result = subprocess.run(
        [sys.executable, "program.py"], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert result.stdout == "done ['program.py']\n"
    assert result.stderr.endswith("1 finding: 1 error (mode watch, 1 graph, 3 replays)\n")


def test_without_the_variable_that_line_does_nothing(project: Path) -> None:
    (project / "program.py").write_text(
        "import graphlint.sentinel.auto, sys\nassert not {'torch', 'graphlint.config'} & set(sys.modules)\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHLINT_SENTINEL": ""}
    subprocess.run([sys.executable, "program.py"], env=environment, check=True)
    wrong = {**environment, "GRAPHLINT_SENTINEL": "wach"}
    result = subprocess.run([sys.executable, "program.py"], env=wrong, capture_output=True, encoding="utf-8")
    assert (result.returncode, "did you mean `watch`?" in result.stderr) == (1, True)
