"""Every rule has its page, in one form; the examples on it are true, and what it claims was measured.

Every Python block of a page is linted with all rules, notes included. Its findings must be exactly those that the
block marks with `# expect: CGnnn`; a line marked `# ok: CGnnn` says what the page is about, and has none. On the
pages of graphlint about itself (CG9) the comments are the subject, so that there is no room for marks: the example
has findings of the rule alone, and what is to be used instead has none.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import graphlint.engine
from graphlint.cli import cli
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
ABOUT_PROGRAMS = [rule for rule in RULES if not rule.code.startswith("CG9")]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "docs" / "measured"
SCENARIOS = json.loads((MEASURED / "scenarios.json").read_text(encoding="utf-8"))
TORCH = re.compile(r"\btorch 2\.\d+")
UNMEASURED = re.compile(r"\bnot (a )?measure(d|ment)\b", re.IGNORECASE)
ERROR = re.compile(r"^(?:[\w.]*Error: |CUDA error: )", re.MULTILINE)


def _sections(rule: type[Rule]) -> dict[str, str]:
    _, *parts = re.split(r"^## (.*)$", rule.page().read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _blocks(rule: type[Rule]) -> list[tuple[str, str]]:
    """The Python blocks of a rule's page, each with the heading that it is under."""
    if not rule.page().exists():
        return []
    _, *sections = re.split(r"^## (.*)$", rule.page().read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        (heading, block)
        for heading, text in zip(sections[::2], sections[1::2], strict=True)
        for block in PYTHON.findall(text)
    ]


BLOCKS = [
    pytest.param(rule, heading, block, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, (heading, block) in enumerate(_blocks(rule))
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


@pytest.mark.parametrize("rule", ABOUT_PROGRAMS, ids=by_code)
def test_what_you_see_names_its_measurement_or_says_that_there_is_none(rule: type[Rule]) -> None:
    sections = _sections(rule)
    if TORCH.search(sections["What you see"]):
        assert "docs/measured/" in sections["References"], "name the scenarios or rows that show it"
    else:
        assert UNMEASURED.search(sections["What you see"]), "name the torch version, or say `not measured`"


@pytest.mark.parametrize("rule", ABOUT_PROGRAMS, ids=by_code)
def test_the_scenarios_that_a_page_names_exist(rule: type[Rule]) -> None:
    references = " ".join(_sections(rule)["References"].split())
    named = re.search(r"- Measured: (.*?) in \[scenarios\]\(\.\./docs/measured/scenarios\.json\)", references)
    assert bool(named) == ("scenarios.json" in references)
    names = re.findall(r"`([^`]+)`", named[1]) if named else []
    assert set(names) <= SCENARIOS["single"].keys() | SCENARIOS["collective"].keys()


@pytest.mark.parametrize("rule", ABOUT_PROGRAMS, ids=by_code)
def test_the_errors_that_a_page_quotes_were_seen(rule: type[Rule]) -> None:
    section = _sections(rule)["What you see"]
    quoted = [block for block in re.findall(r"^```text\n(.*?)^```", section, re.DOTALL | re.MULTILINE)]
    errors = [text for block in quoted if ": CG" not in block for text in ERROR.split(block)[1:]]
    unseen = [error for error in errors if _first_words(error) not in SEEN]
    assert not unseen or UNMEASURED.search(section), unseen


def _first_words(error: str) -> str:
    """What the raw results, which are cut, may be asked for."""
    return _plain(error.strip(" .\n").lstrip("."))[:60]


def _plain(text: str) -> str:
    return re.sub(r"[\s/\"'`\\]+", " ", text).strip()


SEEN = _plain("\n".join(path.read_text("utf-8") for path in sorted(MEASURED.rglob("*.json*"))))


@pytest.mark.parametrize(("rule", "heading", "block"), BLOCKS)
def test_the_examples_are_true(rule: type[Rule], heading: str, block: str, project: Path) -> None:
    (project / "example.py").write_text(block, encoding="utf-8")
    result = graphlint.engine.check(["example.py"], Config(root=project), use_cache=False)
    report = report_of(result, Level.NOTE, Confidence.LIKELY)
    found = {(each.span.line, each.code) for each in report.findings}
    if rule.code.startswith("CG9"):
        assert {code for _, code in found} == ({rule.code} if heading == "Example" else set())
    else:
        assert found == _marked(block, "expect")
        assert not found & _marked(block, "ok")


QUOTED = re.compile(r"^```text\n((\S+):\d+:\d+: .*?)^```", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"^```(?:python|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "rule", [each for each in RULES if QUOTED.search(_sections(each)["What you see"])], ids=by_code
)
def test_the_output_that_a_page_shows_is_that_of_its_example(rule: type[Rule], project: Path) -> None:
    sections = _sections(rule)
    quoted, example = QUOTED.search(sections["What you see"]), EXAMPLE.search(sections["Example"])
    assert quoted is not None and example is not None
    (project / quoted[2]).write_text(example[1], encoding="utf-8")
    (project / "other.py").touch()
    paths = [quoted[2]] if quoted[2].endswith(".py") else ["."]
    shown = CliRunner().invoke(cli, ["check", "--no-cache", *paths]).stdout
    headers = [line for line in shown.splitlines() if f": {rule.code} [" in line]
    assert " ".join(quoted[1].split()) == headers[0]


@pytest.mark.parametrize("rule", ABOUT_PROGRAMS, ids=by_code)
def test_the_page_shows_the_hazard_and_what_to_use_instead(rule: type[Rule]) -> None:
    marks = {heading: MARK.findall(block) for heading, block in _blocks(rule)}
    assert ("expect", rule.code) in marks["Example"]
    assert ("ok", rule.code) in marks["Use instead"]


def _marked(block: str, kind: str) -> set[tuple[int, str]]:
    return {
        (number, match[2])
        for number, line in enumerate(block.splitlines(), 1)
        for match in MARK.finditer(line)
        if match[1] == kind
    }
