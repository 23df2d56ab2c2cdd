"""A baseline: findings that were there before, known by the text of their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import FakeAnalysis, Run, finding

CODE = "a = 1\nb = 2\nb = 2\n"


def listing(count: str) -> str:
    entry = f'{{"path": "a.py", "code": "CG901", "line": "a = 1", "count": {count}}}'
    return f'{{"version": 1, "findings": [{entry}]}}'


@pytest.fixture
def written(project: Path, run: Run, analysis: FakeAnalysis) -> Path:
    """A baseline with one finding on each of the three lines."""
    (project / "a.py").write_text(CODE, encoding="utf-8")
    analysis.findings = [finding(line=line) for line in (1, 2, 3)]
    result = run("check", "--write-baseline", "known.json")
    assert (result.exit_code, result.stdout) == (0, "wrote 3 to known.json\n")
    return project / "known.json"


def shown(run: Run) -> list[str]:
    result = run("check", "--output-format", "concise", "--baseline", "known.json")
    assert result.exit_code == int(bool(result.stdout))
    return [line.split(": ")[0] for line in result.stdout.splitlines()]


def test_what_is_listed_is_left_out(run: Run, written: Path) -> None:
    assert shown(run) == []
    assert "No findings; 3 in the baseline" in run("check", "--baseline", "known.json").stdout


def test_it_lists_lines_by_their_text_and_how_often(written: Path) -> None:
    assert json.loads(written.read_text(encoding="utf-8")) == {
        "version": 1,
        "findings": [
            {"path": "a.py", "code": "CG901", "line": "a = 1", "count": 1},
            {"path": "a.py", "code": "CG901", "line": "b = 2", "count": 2},
        ],
    }


def test_writing_it_anew_keeps_what_the_old_one_left_out(run: Run, written: Path) -> None:
    before = written.read_text(encoding="utf-8")
    run("check", "--baseline", "known.json", "--write-baseline", "known.json")
    assert written.read_text(encoding="utf-8") == before


def test_lines_may_move(run: Run, written: Path, project: Path, analysis: FakeAnalysis) -> None:
    (project / "a.py").write_text(f"# a line\n\n{CODE}", encoding="utf-8")
    analysis.findings = [finding(line=line) for line in (3, 4, 5)]
    assert shown(run) == []


def test_one_more_of_the_same_kind_is_shown(
    run: Run, written: Path, project: Path, analysis: FakeAnalysis
) -> None:
    (project / "a.py").write_text(f"{CODE}b = 2\n", encoding="utf-8")
    analysis.findings = [*analysis.findings, finding(line=4)]
    assert shown(run) == ["a.py:4:1"]


def test_another_rule_another_file_or_another_text_is_shown(
    run: Run, written: Path, project: Path, analysis: FakeAnalysis
) -> None:
    (project / "b.py").write_text(CODE, encoding="utf-8")
    (project / "a.py").write_text(CODE.replace("a = 1", "a = 3"), encoding="utf-8")
    analysis.findings = [finding(line=1), finding(line=2, code="CG902"), finding("b.py", 2)]
    assert shown(run) == ["a.py:1:1", "a.py:2:1", "b.py:2:1"]


def test_what_is_not_found_any_more_is_counted(run: Run, written: Path, analysis: FakeAnalysis) -> None:
    analysis.findings = analysis.findings[:1]
    result = run("check", "--baseline", "known.json")
    assert (result.exit_code, result.stderr) == (
        0,
        "graphlint: known.json: 2 listed and not found in this run\n",
    )


def test_paths_are_meant_from_the_project(
    run: Run, project: Path, analysis: FakeAnalysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").touch()
    (project / "pkg").mkdir()
    (project / "pkg/a.py").write_text(CODE, encoding="utf-8")
    analysis.findings = [finding("pkg/a.py")]
    run("check", "--write-baseline", "known.json", "pkg")
    monkeypatch.chdir(project / "pkg")
    analysis.findings = [finding("a.py")]
    assert run("check", "--baseline", "../known.json", ".").exit_code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "known.json: cannot be read"),
        ("{", "known.json: is not JSON"),
        ("[]", "known.json: is not a baseline of this version"),
        ('{"version": 2, "findings": []}', "known.json: is not a baseline of this version"),
        ('{"version": 1, "findings": [{"path": "a.py"}]}', "known.json: is not a baseline of this version"),
        (listing("-5"), "known.json: is not a baseline of this version"),
        (listing("1e400"), "known.json: is not a baseline of this version"),
        ("[" * 100_000, "known.json: is not JSON"),
    ],
)
def test_a_file_that_is_none_is_a_message(run: Run, project: Path, text: str | None, words: str) -> None:
    if text is not None:
        (project / "known.json").write_text(text, encoding="utf-8")
    result = run("check", "--baseline", "known.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_place_that_cannot_be_written_is_a_message(run: Run) -> None:
    result = run("check", "--write-baseline", "absent/known.json")
    assert result.exit_code == 2
    assert "absent/known.json: cannot be written" in result.stderr
