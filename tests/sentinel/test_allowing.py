"""`[tool.graphlint.sentinel]`: what a project has decided to live with."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.config import ConfigError, load_config
from graphlint.sentinel.allowing import MAX_FINDINGS, Table, load
from tests.sentinel.hazards import at, seen


def table(folder: Path, text: str) -> Table:
    (folder / "pyproject.toml").write_text(f"[tool.graphlint.sentinel]\n{text}", encoding="utf-8")
    return load(folder)


def entry(where: str, code: str = "CG101") -> str:
    return f"allow = [{{code = '{code}', where = '{where}', reason = 'known'}}]"


def test_nothing_is_allowed_where_nothing_is_said(tmp_path: Path) -> None:
    assert load(tmp_path) == Table((), MAX_FINDINGS)
    (tmp_path / "pyproject.toml").write_text("[tool.graphlint]\n", encoding="utf-8")
    assert load(tmp_path) == Table((), MAX_FINDINGS)


def test_the_linter_leaves_the_table_to_the_sentinel(tmp_path: Path) -> None:
    table(tmp_path, entry("a.py"))
    assert load_config((tmp_path,)).root == tmp_path


@pytest.mark.parametrize(
    "where",
    [
        "a.py",
        "src/",
        "src/*.py",
        "/src/a.py",
        "src/a.py:Engine.step",
        ":Engine.step",
        "*:*.step",
        "**/src/a.py",
    ],
)
def test_a_place_of_any_stack_may_be_meant(tmp_path: Path, where: str) -> None:
    place = at(tmp_path / "src" / "a.py", 3, "Engine.step")
    other = at(tmp_path / "b.py", 1, "main")
    allowed = table(tmp_path, entry(where))
    for finding in (seen(captured=(other, place)), seen(touched=(place,)), seen(replayed=(place, other))):
        assert allowed.allowing(finding) is allowed.allow[0]
    assert allowed.allowing(seen(captured=(other,))) is None
    assert allowed.allowing(seen(code="CG201", captured=(place,))) is None


@pytest.mark.parametrize("where", ["b.py", "src", "a.py:Engine", "/a.py", ":step"])
def test_other_places_are_not_meant(tmp_path: Path, where: str) -> None:
    place = at(tmp_path / "lib" / "a.py", 3, "Engine.step")
    assert table(tmp_path, entry(where)).allowing(seen(captured=(place,))) is None


def test_files_outside_of_the_project_are_matched_from_the_root_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    place = at(tmp_path / "elsewhere" / "engine.py")
    allowed = table(tmp_path / "project", entry("**/elsewhere/"))
    assert allowed.allowing(seen(captured=(place,)))


def test_a_rule_may_be_named(tmp_path: Path) -> None:
    assert table(tmp_path, entry("a.py", "kept-static-output")).allow[0].code == "CG201"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alow = []", "has an unknown key `alow`; known keys: allow, max-findings"),
        ("allow = 'CG101'", "`allow` must be a list of tables"),
        (
            "allow = [{code = 'CG101', where = 'a.py'}]",
            "entry 1 must have exactly the keys code, where, reason",
        ),
        (
            "allow = [{code = 'CG101', where = 'a.py', reason = ' '}]",
            "`reason` must be a text that is not empty",
        ),
        (entry("a.py", "CG1"), "unknown rule `CG1`"),
        (entry("a.py", "CG999"), "unknown rule `CG999`"),
        ("max-findings = 0", "`max-findings` must be a number from 1"),
    ],
)
def test_what_cannot_be_meant_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        table(tmp_path, text)
    assert message in str(error.value)
    assert str(tmp_path / "pyproject.toml") in str(error.value)
