"""Every rule has its places: `tests/places/<name of its module>/`, one small project in the words of real code.

A place is a marked line: `# expect: CGnnn` where the rule must speak, `# ok: CGnnn` where it must not although
the line looks like the hazard. A project has at least six of each; one finding whose chain comes from another
file; one that a `# graphlint: ignore[CGnnn]` comment accepts; and `snapshot.txt`, the text that a user sees of
the first finding that comes from another file. With GRAPHLINT_UPDATE_SNAPSHOTS set, the snapshot is written anew.

All rules run, notes and all: what is reported must be exactly what the marks expect. A file whose name ends in
`.txt` is for graphlint only (it would not parse, or configures it) and is linted without that ending.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphlint.config import load_config
from graphlint.engine import check
from graphlint.finding import Confidence, Finding, Level
from graphlint.formats import format_named
from graphlint.formats.style import Style
from graphlint.report import Report, report_of
from graphlint.rules.registry import all_rules
from graphlint.rules.rule import Rule
from graphlint.suppressions import suppressions_of

PLACES = Path(__file__).with_name("places")
SNAPSHOT = "snapshot.txt"
LEAST = 6
HOW = "see the top of tests/test_places.py"
MARK = re.compile(r"#\s*(expect|ok): (CG\d{3})(?=\s|$)")
# A call, a dotted name, a name with an underscore: all of them are somebody's code.
CODE = re.compile(r"\w\(|\b[a-z]\w*\.[a-z]\w+|\b[a-z]+_\w+")
RULES = all_rules()
Mark = tuple[str, str, int]


def by_code(rule: type[Rule]) -> str:
    return rule.code


def about_graphlint(rule: type[Rule]) -> bool:
    """Whether a rule speaks of files, comments and settings: it has no chain."""
    return rule.code.startswith("CG9")


def project_of(rule: type[Rule]) -> Path:
    return PLACES / rule.page().stem


def files_of(rule: type[Rule]) -> dict[str, str]:
    """The files of a rule's project by the paths that graphlint sees."""
    folder = project_of(rule)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != SNAPSHOT)
    return {
        path.relative_to(folder).as_posix().removesuffix(".txt"): path.read_bytes().decode("utf-8")
        for path in files
        if "__pycache__" not in path.parts
    }


def marks(rule: type[Rule], word: str) -> set[Mark]:
    return {
        (path, match[2], number)
        for path, text in files_of(rule).items()
        for number, line in enumerate(text.split("\n"), 1)
        for match in MARK.finditer(line)
        if match[1] == word
    }


def own(rule: type[Rule], word: str) -> set[Mark]:
    return {mark for mark in marks(rule, word) if mark[1] == rule.code}


@pytest.fixture
def report(rule: type[Rule], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """What graphlint says of a rule's project, notes included."""
    monkeypatch.setenv("GRAPHLINT_DEBUG", "1")
    monkeypatch.chdir(tmp_path)
    for path, text in files_of(rule).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8", newline="")
    (tmp_path / ".git").mkdir()
    result = check([Path()], load_config([Path()]), use_cache=False, jobs=1)
    return report_of(result, Level.NOTE, Confidence.LIKELY)


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_what_is_reported_is_what_is_marked(rule: type[Rule], report: Report) -> None:
    assert project_of(rule).is_dir(), f"{rule.code} has no places: {HOW}"
    found = {(each.path, each.code, each.span.line): each for each in report.findings}
    expected = marks(rule, "expect")
    wrong = [f"missing {path}:{line} {code}" for path, code, line in sorted(expected - found.keys())]
    wrong += [
        f"unexpected {path}:{line} {code} {found[path, code, line].message}"
        for path, code, line in sorted(found.keys() - expected)
    ]
    assert not wrong, "\n".join(wrong)
    others = [each for each in report.findings if each.code != "CG900"]  # Python's own words
    assert not [text for each in others for text in _faults_of_style(each)]
    _compare_with_snapshot(rule, report)


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_there_are_enough_places(rule: type[Rule]) -> None:
    fires, silent = len(own(rule, "expect")), len(own(rule, "ok"))
    assert min(fires, silent) >= LEAST, (
        f"{rule.code} has {fires} places with `# expect` and {silent} with `# ok` in {project_of(rule).name}/, "
        f"and needs {LEAST} of each: {HOW}"
    )
    assert not own(rule, "expect") & own(rule, "ok")


# Settings have no comments for graphlint.
@pytest.mark.parametrize("rule", [each for each in RULES if each.code != "CG903"], ids=by_code)
def test_one_place_is_accepted_by_a_comment(rule: type[Rule]) -> None:
    accepted = {
        entry.rule for path, text in files_of(rule).items() for entry in suppressions_of(path, text).entries
    }
    assert rule in accepted, f"{rule.code} has no place with a comment `# graphlint: ignore[{rule.code}]`"


def test_no_places_are_without_a_rule() -> None:
    folders = {path.name for path in PLACES.iterdir() if any(path.glob("*.*"))}
    assert folders <= {rule.page().stem for rule in RULES}


def _faults_of_style(finding: Finding) -> Iterator[str]:
    """Messages and help start in lower case, end without a full stop, and have code in backticks only."""
    for text in (finding.message, finding.help):
        outside = re.sub(r"`[^`]*`|\S+:\d+", "", text)
        if text[:1].isupper() or text.endswith(".") or "`" in outside or CODE.search(outside):
            yield text


def _compare_with_snapshot(rule: type[Rule], report: Report) -> None:
    """The first finding that comes from another file, as a user sees it."""
    own_ones = [each for each in report.findings if each.code == rule.code]
    across = [each for each in own_ones if about_graphlint(rule) or _comes_from_another_file(each)]
    assert across, f"no finding of {rule.code} has a chain from another file"
    single = Report(tuple(across[:1]), (), report.summary, report.sources)
    shown = "".join(format_named("text")(single, Style(quiet=True)))
    stored = project_of(rule) / SNAPSHOT
    if "GRAPHLINT_UPDATE_SNAPSHOTS" in os.environ:
        stored.write_text(shown, encoding="utf-8")
    assert shown == stored.read_text(encoding="utf-8")


def _comes_from_another_file(finding: Finding) -> bool:
    return any(hop.path != finding.path for hop in finding.chain)
