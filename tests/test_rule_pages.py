"""Every rule has its page, in one form, and the examples on it are true.

A Python block that marks lines with `# expect: CGnnn` is linted: findings of the codes that it marks must be on
exactly those lines, and a line marked `# ok: CGnnn` must have no finding of that code. An example may leave out
what other rules want, such as a warm-up.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import graphlint.engine
from graphlint.config import Config
from graphlint.finding import Confidence, Level
from graphlint.report import report_of
from graphlint.rules.registry import all_rules
from graphlint.rules.rule import HAZARDS, Rule

HEADINGS = [
    "What it does",
    "Why it breaks under capture",
    "What you see",
    "Example",
    "Use instead",
    "Fix safety",
    "Known limits",
    "References",
]
MARK = re.compile(r"#\s*(expect|ok): (CG\d{3})")
RULES = all_rules()
BLOCKS = [
    pytest.param(rule, block, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, block in enumerate(
        re.findall(
            r"^```python\n(.*?)^```", rule.page().read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        if rule.page().exists()
        else ()
    )
    if MARK.search(block)
]


def by_code(rule: type[Rule]) -> str:
    return rule.code


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_the_page_has_the_headings_in_order(rule: type[Rule]) -> None:
    assert rule.page().exists(), f"{rule.page().name} is missing"
    prose = re.sub(
        r"^```.*?^```", "", rule.page().read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    assert re.findall(r"^# (.*)$", prose, re.MULTILINE) == [f"{rule.name} ({rule.code})"]
    assert re.findall(r"^## (.*)$", prose, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_no_section_of_the_page_is_empty(rule: type[Rule]) -> None:
    sections = re.split(r"^##? .*$", rule.page().read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert all(section.strip() for section in sections[2:])


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_metadata_follows_the_conventions(rule: type[Rule]) -> None:
    assert re.fullmatch(r"CG[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert rule.page().stem == rule.name.replace("-", "_")
    assert rule.hazard in HAZARDS
    assert isinstance(rule.level, Level)
    assert rule.summary[0].islower() or not rule.summary[0].isalpha()
    assert not rule.summary.endswith(".")


def test_codes_and_names_are_unique() -> None:
    for values in (Counter(rule.code for rule in RULES), Counter(rule.name for rule in RULES)):
        assert set(values.values()) == {1}


def test_no_page_is_without_a_rule() -> None:
    pages = {page.stem for page in Path(RULES[0].page()).parent.glob("*.md")}
    assert pages == {rule.page().stem for rule in RULES}


@pytest.mark.parametrize(("rule", "block"), BLOCKS)
def test_the_examples_are_true(rule: type[Rule], block: str, project: Path) -> None:
    (project / "example.py").write_text(block, encoding="utf-8")
    # Examples of other rules may leave the warm-up out.
    ignored = () if rule.code == "CG701" else ("CG701",)
    config = Config(root=project, ignore=ignored)
    result = graphlint.engine.check(["example.py"], config, use_cache=False)
    report = report_of(result, Level.NOTE, Confidence.LIKELY)
    marks = {kind: _marked(block, kind) for kind in ("expect", "ok")}
    named = {code for places in marks.values() for _, code in places}
    found = {(each.span.line, each.code) for each in report.findings if each.code in named}
    assert result.problems == ()
    assert found == marks["expect"]
    assert not found & marks["ok"]


def _marked(block: str, kind: str) -> set[tuple[int, str]]:
    return {
        (number, match[2])
        for number, line in enumerate(block.splitlines(), 1)
        for match in MARK.finditer(line)
        if match[1] == kind
    }
