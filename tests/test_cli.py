"""The commands as a user meets them: output, exit codes, and what is said about bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import graphlint
from graphlint.cli import cli
from graphlint.facts.cache import FactsCache
from graphlint.facts.cachefile import TAG
from graphlint.facts.project import Project
from graphlint.finding import Confidence, Hop, Level
from graphlint.problem import Problem
from graphlint.regions import CallSite, CapturedFunction, LeftBehind, RegionReport, Unresolved
from tests.conftest import FakeAnalysis, Run, finding

ROOT = Path(__file__).resolve().parent.parent


def python(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", "LC_ALL": "C"}
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )


def test_a_clean_project_exits_with_0(run: Run) -> None:
    result = run("check")
    assert result.exit_code == 0
    assert result.stdout.startswith("No findings (0 files")
    assert "no Python files" in result.stderr


def test_findings_exit_with_1_and_with_0_when_asked(run: Run, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding()]
    assert run("check").exit_code == 1
    assert run("check", "--exit-zero").exit_code == 0


def test_findings_that_are_not_shown_exit_with_0(run: Run, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding(level=Level.NOTE), finding(line=2, confidence=Confidence.POSSIBLE)]
    assert run("check").exit_code == 0
    assert run("check", "--level", "note").exit_code == 1
    assert run("check", "--confidence", "possible").exit_code == 1


def test_trouble_exits_with_2_and_findings_are_still_printed(run: Run, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding()]
    result = run("check", "--exit-zero", "--output-format", "concise", "absent.py", ".")
    assert result.exit_code == 2
    assert result.stdout == "a.py:1:1: CG901 something is recorded\n"
    assert result.stderr == "graphlint: absent.py: does not exist\n"


def test_an_unparsable_file_is_said_once(run: Run, analysis: FakeAnalysis) -> None:
    analysis.problems = [Problem("a.py", "cannot be parsed", 3, is_source=True)]
    shown = run("check", "-q")
    assert (shown.exit_code, shown.stderr) == (2, "")
    assert "a.py:3:1: error: CG900 [unreadable-source] cannot be parsed" in shown.stdout
    ignored = run("check", "-q", "--ignore", "CG900")
    assert (ignored.exit_code, ignored.stdout) == (2, "")
    assert ignored.stderr == "graphlint: a.py:3: cannot be parsed\n"


def test_a_broken_file_that_nothing_needs_is_said_and_not_counted(run: Run, analysis: FakeAnalysis) -> None:
    analysis.unneeded = [Problem("a.py", "syntax error: invalid syntax", 3, is_source=True)]
    result = run("check")
    assert (result.exit_code, result.stdout.splitlines()[0][:11]) == (0, "No findings")
    assert "graphlint: a.py:3: syntax error: invalid syntax (not counted: " in result.stderr
    assert "a.py" not in run("check", "--quiet").stderr


def test_a_crash_of_the_analysis_is_a_message(run: Run, analysis: FakeAnalysis) -> None:
    analysis.crash = ValueError("surprise")
    result = run("check")
    assert result.exit_code == 2
    assert "internal error, please report it: ValueError: surprise" in result.stderr


def test_a_crash_of_a_command_is_a_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ValueError("surprise")

    monkeypatch.setattr("graphlint.engine.check", fail)
    result = run("check")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "graphlint: internal error, please report it: ValueError: surprise\n"


def test_an_interrupted_command_is_neither_clean_nor_a_finding(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("graphlint.engine.check", interrupt)
    assert run("check").exit_code == 130


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--select", "CG931"], "--select: unknown rule `CG931`; did you mean"),
        (["check", "--ignore", "CG901,nonsense"], "--ignore: unknown rule `nonsense`"),
        (["check", "--config", "absent.toml"], "absent.toml: cannot be read"),
        (["check", "--output-format", "xml"], "Invalid value for '--output-format'"),
        (["check", "--frobnicate"], "No such option"),
        (["check", "--stdin-filename", "a.py"], "--stdin-filename: `-` is not among the paths"),
        (["check", "-", "--stdin-filename", "a.txt"], "a.txt is not the name of a Python file"),
        (["chekc"], "No such command"),
        (["explain", "CG931"], "unknown rule `CG931`; did you mean"),
        (["explain", "CG90"], "unknown rule `CG90`; name a single one, CG900 to CG903"),
        (["check", "--select", ""], "--select: names no rule"),
        (["check", "--ignore", ", "], "--ignore: names no rule"),
        (["check", "--isolated", "--config", "a.toml"], "--config and --isolated exclude each other"),
    ],
)
def test_bad_usage_exits_with_2_and_says_why(run: Run, arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_a_bad_configuration_exits_with_2_unless_isolated(run: Run, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.graphlint]\nselct = []\n", encoding="utf-8")
    result = run("check")
    assert result.exit_code == 2
    assert "unknown key `selct` in [tool.graphlint]; did you mean `select`?" in result.stderr
    assert run("check", "--isolated").exit_code == 0


def test_select_and_ignore_take_lists(run: Run, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding(line=number, code=f"CG90{number}") for number in (1, 2, 3)]
    result = run("check", "--output-format", "concise", "--select", "CG901,CG902", "--ignore", "CG901")
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["CG902"]


def test_names_that_are_not_text_are_printed_escaped(run: Run, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding("caf\udce9.py")]
    assert run("check", "--output-format", "concise").stdout.startswith("caf\\udce9.py:1:1:")


def test_regions_as_text(run: Run, analysis: FakeAnalysis) -> None:
    analysis.regions = [
        RegionReport(
            "run.py",
            9,
            "graph-context",
            (CapturedFunction("m.py", 3, "Model.forward"),),
            (Unresolved("m.py", 5, "self.table[k](x)", "a value that is not known"),),
            (Hop("run.py", 30, "Runner.step"),),
            (LeftBehind("m.py", 6, "self.out"),),
            (CallSite("m.py", 5, 8, False, False), CallSite("m.py", 6, 8, True, True)),
        )
    ]
    result = run("regions")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:8] == [
        "run.py:9  graph-context",
        "  captured    m.py:3  Model.forward",
        "  unresolved  m.py:5  self.table[k](x)  (a value that is not known)",
        "  leaves      m.py:6  self.out",
        "  replayed    run.py:30  Runner.step",
        "",
        "1 capture region, 1 captured function, 1 unresolved call",
        "Followed 1 of 2 calls in captured code, torch's functions and builtins not counted; 1 of 1 of the "
        "form `self.name(...)`",
    ]
    assert "`captured` in [tool.graphlint]" in result.stdout


def test_a_function_of_two_regions_is_counted_once(run: Run, analysis: FakeAnalysis) -> None:
    shared = (CapturedFunction("m.py", 3, "Model.forward"),)
    analysis.regions = [RegionReport("run.py", line, "graph-context", shared) for line in (9, 19)]
    assert "2 capture regions, 1 captured function," in run("regions").stdout


def test_regions_as_json(run: Run, analysis: FakeAnalysis) -> None:
    hop = Hop("run.py", 9, "capture")
    captured = CapturedFunction("m.py", 3, "Model.forward", (hop,))
    unresolved = Unresolved("m.py", 5, "f()", "not known")
    left = LeftBehind("m.py", 6, "self.out")
    calls = (CallSite("m.py", 5, 8, False, False),)
    parts = ((captured,), (unresolved,), (Hop("run.py", 30, "step"),), (left,), calls)
    analysis.regions = [RegionReport("run.py", 9, "graph-context", *parts)]
    assert json.loads(run("regions", "--output-format", "json").stdout) == {
        "regions": [
            {
                "path": "run.py",
                "line": 9,
                "kind": "graph-context",
                "captured": [
                    {
                        "path": "m.py",
                        "line": 3,
                        "function": "Model.forward",
                        "chain": [{"path": "run.py", "line": 9, "function": "capture"}],
                    }
                ],
                "unresolved": [{"path": "m.py", "line": 5, "text": "f()", "reason": "not known"}],
                "replays": [{"path": "run.py", "line": 30, "function": "step"}],
                "left_behind": [{"path": "m.py", "line": 6, "name": "self.out"}],
            }
        ],
        "shares": {"calls": 1, "resolved": 0, "own_calls": 0, "own_resolved": 0},
    }


def test_regions_exit_with_2_on_trouble(run: Run) -> None:
    result = run("regions", "absent")
    assert (result.exit_code, result.stderr) == (2, "graphlint: absent: does not exist\n")


def test_rules_as_text_and_json(run: Run) -> None:
    lines = run("rules").stdout.splitlines()
    listed = json.loads(run("rules", "--output-format", "json").stdout)["rules"]
    assert [line.split()[0] for line in lines] == [rule["code"] for rule in listed]
    assert set(listed[0]) == {"code", "name", "hazard", "level", "summary"}


@pytest.mark.parametrize("name", ["CG901", "cg901", "unused-suppression"])
def test_explain_prints_the_page(run: Run, name: str) -> None:
    page = (ROOT / "rules/unused_suppression.md").read_text(encoding="utf-8")
    place = "Configuration and suppression (README.md#suppression in the source)"
    shown = page.replace("[Configuration and suppression](../README.md#suppression)", place)
    assert run("explain", name).stdout == shown


@pytest.mark.parametrize("code", ["CG401", "CG802"])
def test_explain_shows_no_link_that_leads_nowhere(run: Run, code: str) -> None:
    shown = run("explain", code).stdout
    assert "](../" not in shown and ".md)" not in shown
    assert "frozen-scalar" in shown or "(docs/measured/scenarios.json in the source)" in shown


def test_explain_names_the_code_where_the_tests_have_their_marks(run: Run) -> None:
    shown = [line.strip() for line in run("explain", "CG804").stdout.splitlines()]
    assert "opt.step()  # CG804" in shown and "opt.step()" in shown
    assert not [line for line in shown if "expect:" in line or "ok:" in line]


def test_explain_lays_the_page_out_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = run("explain", "CG804").stdout
    assert "\x1b[" in shown
    assert not {"## What it does", "```python"} & {line.strip() for line in shown.splitlines()}


def test_clean_removes_the_cache_of_the_project_only(run: Run, project: Path) -> None:
    (project / "pyproject.toml").touch()
    (project / "pkg").mkdir()
    (project / "pkg/a.py").touch()
    cache = FactsCache(project / ".graphlint_cache")
    Project([project / "pkg/a.py"], cache=cache)
    cache.save()
    assert (project / ".graphlint_cache").is_dir()
    result = run("clean", "pkg")
    assert (result.exit_code, result.stdout) == (0, f"removed {project / '.graphlint_cache'}\n")
    assert sorted(entry.name for entry in project.iterdir()) == ["pkg", "pyproject.toml"]
    assert run("clean").exit_code == 0


def test_clean_removes_nothing_for_a_path_that_does_not_exist(run: Run, project: Path) -> None:
    cache = project / ".graphlint_cache"
    cache.mkdir()
    (cache / "CACHEDIR.TAG").write_text(TAG)
    result = run("clean", ".", "absent")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "graphlint: absent: does not exist\n"
    assert cache.is_dir()
    assert run("clean").stdout.startswith("removed ")


def test_clean_says_when_there_is_nothing_to_remove(run: Run) -> None:
    result = run("clean")
    assert result.exit_code == 0
    assert result.stdout.startswith("nothing to remove: ")


def test_clean_leaves_a_folder_alone_that_is_no_cache(run: Run, project: Path) -> None:
    (project / ".graphlint_cache").mkdir()
    result = run("clean")
    assert result.exit_code == 2
    assert "is not a cache of graphlint" in result.stderr
    assert (project / ".graphlint_cache").is_dir()


def test_clean_does_not_follow_a_link(run: Run, project: Path) -> None:
    (project / "precious").mkdir()
    (project / ".graphlint_cache").symlink_to("precious")
    assert run("clean").exit_code == 2
    assert (project / "precious").is_dir()


def test_the_module_runs_and_says_its_version(tmp_path: Path) -> None:
    result = python("-m", "graphlint", "--version", folder=tmp_path)
    version = ".".join(map(str, sys.version_info[:3]))
    assert result.stdout == f"graphlint {graphlint.__version__} (Python {version})\n"


def test_the_version_needs_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, graphlint.cli; "
        "print(sorted({'libcst', 'rich', 'pathspec', 'ast', 'graphlint.engine'} & sys.modules.keys()))"
    )
    known = python("-c", "import sys, click; print('ast' in sys.modules)", folder=tmp_path).stdout.strip()
    expected = "['ast']\n" if known == "True" else "[]\n"
    assert python("-c", code, folder=tmp_path).stdout == expected


def test_output_is_utf8_in_any_locale(tmp_path: Path) -> None:
    (tmp_path / "日本.py").write_text("def f(:\n", encoding="utf-8")
    result = python("-m", "graphlint", "explain", "CG902", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_closed_pipe_is_silent(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m graphlint explain CG900 | true'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True)
    assert result.stderr == b""


def in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a line of the shell does; `$GRAPHLINT` is the command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHLINT": f"{sys.executable} -m graphlint"}
    return subprocess.run(
        line, shell=True, cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )


@pytest.mark.skipif(os.name == "nt", reason="written for a POSIX shell")
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("$GRAPHLINT check - <&-", 2, "graphlint: -: standard input is closed\n"),
        ("$GRAPHLINT rules >&-", 0, ""),
        ("$GRAPHLINT check absent.py 2>&-", 2, ""),
        (
            "mkdir gone; cd gone; rmdir ../gone; $GRAPHLINT check",
            2,
            "graphlint: the current folder: cannot be used",
        ),
    ],
)
def test_what_the_caller_has_taken_away_is_no_crash(
    tmp_path: Path, line: str, code: int, message: str
) -> None:
    result = in_shell(line, tmp_path)
    assert (result.returncode, result.stderr[: len(message) or None]) == (code, message)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("buffering", ["env -u PYTHONUNBUFFERED", "env PYTHONUNBUFFERED=1"])
@pytest.mark.parametrize(
    "arguments", ["rules", "check --help", "--help", "--version", "explain CG101", "check ."]
)
def test_a_full_disk_is_a_message(arguments: str, buffering: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    result = in_shell(f"{buffering} $GRAPHLINT {arguments} >/dev/full", tmp_path)
    reason = "standard output: cannot be written: No space left on device"
    assert (result.returncode, result.stderr) == (2, f"graphlint: {reason}\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_message_and_the_rest_is_checked(run: Run, project: Path) -> None:
    (project / "closed").mkdir(mode=0)
    (project / "a.py").touch(mode=0)
    result = run("check", "a.py", "closed/b.py")
    assert result.exit_code == 2
    assert result.stderr == "graphlint: closed/b.py: cannot be looked at: Permission denied\n"
    assert "(1 file" in result.stdout


READS = "import torch\n\n\ndef longest(lengths):\n    return lengths.max(){}\n"
CAPTURES = """
import torch

from model import longest


def record():
    lengths = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = longest(lengths)
    return graph, lengths, out
"""


def checked(project: Path, text: str, *arguments: str) -> Result:
    options = ["check", "--no-cache", "--isolated", "--output-format", "concise", *arguments]
    (project / "runner.py").write_text(CAPTURES, encoding="utf-8")
    return CliRunner().invoke(cli, options, input=text)


def test_standard_input_stands_in_for_a_file(project: Path) -> None:
    (project / "model.py").write_text(READS.format(""), encoding="utf-8")
    result = checked(project, READS.format(".item()"), "-", ".", "--stdin-filename", "model.py")
    assert (result.exit_code, result.stdout.split()[:2]) == (1, ["model.py:5:12:", "CG302"])
    (project / "model.py").write_text(READS.format(".item()"), encoding="utf-8")
    assert checked(project, READS.format(""), "-", ".", "--stdin-filename", "model.py").exit_code == 0


def test_standard_input_needs_no_file_and_no_name(project: Path) -> None:
    unsaved = checked(project, READS.format(".item()"), "-", ".", "--stdin-filename", "model.py")
    assert (unsaved.exit_code, unsaved.stdout.split()[:2]) == (1, ["model.py:5:12:", "CG302"])
    alone = checked(project, "x = (\n", "-")
    assert (alone.exit_code, alone.stdout) == (2, "stdin.py:1:5: CG900 syntax error: '(' was never closed\n")
    assert sorted(each.name for each in project.iterdir()) == ["runner.py"]


def test_a_broken_file_that_nothing_needs_is_found_in_a_small_project(project: Path) -> None:
    (project / "model.py").write_text(READS.format(""), encoding="utf-8")
    (project / "broken.py").write_text("def f(:\n", encoding="utf-8")
    result = checked(project, "", ".")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("graphlint: broken.py: syntax error: ")
