"""The table of hazards and the rules agree, and each row that a rule claims has a program that shows it.

`tests/hazards/ROW.py` marks with `# expect: CGnnn` what is reported in it, each by a rule that names the row.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from graphlint.finding import Level
from graphlint.rules.registry import all_rules
from graphlint.rules.rule import Rule
from tests.programs import check_marks

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {path.stem: path for path in sorted((ROOT / "tests" / "hazards").glob("*.py"))}


def _script() -> ModuleType:
    path = ROOT / "benchmarks" / "make_coverage.py"
    spec = importlib.util.spec_from_file_location("make_coverage", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
ROWS = {row.id: row for row in SCRIPT.rows()}


def by_code(rule: type[Rule]) -> str:
    return rule.code


def test_every_row_is_there_once_in_order_and_has_one_answer() -> None:
    rows = SCRIPT.rows()
    assert len(rows) == len(ROWS) == 132
    assert list(ROWS) == sorted(ROWS)
    assert {row.effect for row in rows} == {"silent", "loud", "cost"}
    assert {row.answer for row in rows} == set(SCRIPT.MEANING)
    assert all(row.note for row in rows if row.answer != "found")


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"sentinel": "this", "reason": "that"},
        {"missing": "no rule covers it"},
        {"sentinel": "this", "planned": "that"},
    ],
)
def test_a_row_without_exactly_one_answer_is_refused(keys: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="Z99"):
        SCRIPT.row_of({"id": "Z99", "title": "a hazard", "effect": "loud", **keys})


def test_every_check_that_a_row_names_has_a_section() -> None:
    sections = re.findall(r"^## (\S+)$", (ROOT / "docs/checks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {check for row in ROWS.values() for check in row.checks} <= set(sections)


def test_what_only_a_run_shows_is_planned_until_there_is_a_check() -> None:
    assert {bool(row.checks) for row in ROWS.values() if row.answer == "run time"} == {True}
    assert {bool(row.checks) for row in ROWS.values() if row.answer == "planned"} == {False}


@pytest.mark.parametrize("rule", all_rules(), ids=by_code)
def test_every_rule_names_rows_that_exist(rule: type[Rule]) -> None:
    assert bool(rule.rows) == (not rule.code.startswith("CG9"))
    assert set(rule.rows) <= ROWS.keys()
    assert list(rule.rows) == sorted(set(rule.rows))


def test_every_row_that_a_rule_names_has_a_program() -> None:
    assert PROGRAMS.keys() == {row.id for row in ROWS.values() if row.rules}


@pytest.mark.parametrize("row", PROGRAMS)
def test_the_program_of_a_row_is_reported(row: str) -> None:
    program = PROGRAMS[row].read_text(encoding="utf-8")
    reported = set(re.findall(r"# expect: (CG\d{3})", program))
    assert reported
    assert reported <= {rule.code for rule in ROWS[row].rules}
    check_marks({f"{row}.py": program}, level=Level.NOTE)


def test_the_page_is_what_the_script_writes() -> None:
    written = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert written == SCRIPT.page(SCRIPT.rows()), "run benchmarks/make_coverage.py"
