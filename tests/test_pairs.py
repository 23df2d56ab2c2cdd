"""Bugs and their fixes: `pairs/<folder>/NNN_name_{bug,fix}.py` and `clean_*.py`, each checked alone.

In a bug file `# HAZARD: kind` is on the line to report; a report at an `# ALT: kind` line counts as well.
Whoever writes a pair that the linter cannot tell apart yet adds it, with the reason, to the list
`known_misses.txt` of its folder; an entry that has become wrong fails, so that the list only shrinks.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphlint.config import Config
from graphlint.engine import check
from graphlint.finding import Confidence, Finding, Level
from graphlint.report import report_of
from graphlint.rules.rule import HAZARDS

PAIRS = Path(__file__).parent / "pairs"
MARK = re.compile(r"#\s*(HAZARD|ALT):\s*([a-z-]+(?:,\s*[a-z-]+)*)\s*$")

# One defect seen from two sides may be reported under either hazard.
EXCHANGEABLE = (
    {"rebind-static-input", "stale-pointer", "alloc-in-capture"},
    {"sync-in-capture", "implicit-sync", "host-branch-on-device", "dynamic-shape", "pageable-copy"},
    {"missing-warmup", "jit-in-capture"},
    {"training", "frozen-scalar", "stale-pointer"},
    {"side-effect", "frozen-scalar", "alloc-in-capture", "rebind-static-input"},
    {"thread-mode", "stream-escape"},
    {"stale-output", "pool-misuse"},
)


def _files(pattern: str) -> list[Path]:
    return sorted(PAIRS.glob(f"*/{pattern}"))


def _known_misses() -> dict[str, str]:
    lists = [path.read_text(encoding="utf-8") for path in _files("known_misses.txt")]
    lines = [line for text in lists for line in text.splitlines() if line.strip()]
    return dict((line.split(": ", 1)[0], line.split(": ", 1)[1]) for line in lines)


KNOWN_MISSES = _known_misses()


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem.removesuffix('_bug').removesuffix('_fix')}"


def _marks(text: str) -> dict[int, tuple[str, set[str]]]:
    found = ((number, MARK.search(line)) for number, line in enumerate(text.splitlines(), 1))
    return {number: (mark[1], set(re.split(r",\s*", mark[2]))) for number, mark in found if mark}


def _shown(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """The findings of a file that is alone in its folder and has no marks in it."""
    monkeypatch.setenv("GRAPHLINT_DEBUG", "1")
    text = "\n".join(MARK.sub("#", line) for line in path.read_text(encoding="utf-8").splitlines())
    (tmp_path / "case.py").write_text(text + "\n", encoding="utf-8")
    result = check([tmp_path], Config(root=tmp_path), use_cache=False)
    assert not result.problems
    return list(report_of(result, Level.WARNING, Confidence.LIKELY).findings)


def _lines(finding: Finding) -> range:
    return range(finding.span.line, max(finding.span.line, finding.span.end_line) + 1)


def _fits(found: str, wanted: set[str]) -> bool:
    same = any(found in group and group & wanted for group in EXCHANGEABLE)
    return found in wanted or "other" in wanted or same


def _told_apart(bug: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is wrong with the reports on a pair, if anything."""
    marks = _marks(bug.read_text(encoding="utf-8"))
    reports = _shown(bug, tmp_path, monkeypatch)
    hits = [f for f in reports for line in _lines(f) if line in marks and _fits(f.hazard, marks[line][1])]
    wrong = [] if hits else [f"missed; reported: {[(f.code, f.span.line) for f in reports]}"]
    fix = bug.with_name(bug.name.replace("_bug.py", "_fix.py"))
    return wrong + [
        f"fix: {f.code} at line {f.span.line}: {f.message}" for f in _shown(fix, tmp_path, monkeypatch)
    ]


@pytest.mark.parametrize("bug", _files("*_bug.py"), ids=_name)
def test_a_bug_is_found_and_its_fix_is_silent(
    bug: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = _told_apart(bug, tmp_path, monkeypatch)
    if _name(bug) in KNOWN_MISSES:
        assert wrong, "this pair is told apart now: take it off the list of known misses"
    else:
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _files("clean_*.py"), ids=_name)
def test_a_correct_program_is_silent(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [f"{f.code} at line {f.span.line}: {f.message}" for f in _shown(path, tmp_path, monkeypatch)]
    if _name(path) in KNOWN_MISSES:
        assert reports, "this program is silent now: take it off the list of known misses"
    else:
        assert not reports, "\n".join(reports)


def test_every_bug_has_its_fix_and_known_hazards() -> None:
    for bug in _files("*_bug.py"):
        marks = _marks(bug.read_text(encoding="utf-8"))
        assert any(word == "HAZARD" for word, _ in marks.values()), bug.name
        assert all(kinds <= set(HAZARDS) for _, kinds in marks.values()), bug.name
        assert bug.with_name(bug.name.replace("_bug.py", "_fix.py")).exists(), bug.name


def test_known_misses_exist_and_say_why() -> None:
    names = {_name(path) for path in _files("*.py")}
    assert KNOWN_MISSES.keys() <= names
    assert all(reason.strip() for reason in KNOWN_MISSES.values())
