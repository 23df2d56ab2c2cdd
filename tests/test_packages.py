"""Programs of many files: `packages/<name>/` is correct, its `bugs.txt` puts one bug at a time into it.

A bug begins with `== name`; `= path` names the file that it changes, the lines with `-` are what is replaced (as
they are there, without their indentation), the lines with `+` what comes in their place, indented like the
first of them. `# HAZARD: kind` is on the line to report; a report at an `# ALT: kind` line counts as well.
`right.txt` has changes of the same form that keep the package right, in ways that look like bugs. Whatever is said
of a right program, or at another line of a wrong one, is false. What cannot be told yet is in `known_misses.txt` with
its reason; an entry that has become wrong fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphlint.finding import Finding

from .programs import findings_shown
from .test_pairs import MARK, _fits

PACKAGES = Path(__file__).with_name("packages")
CHANGE = re.compile(r"(?:^- ?.*\n)+(?:^\+.*\n?)*", re.MULTILINE)


def _files(package: Path) -> dict[str, str]:
    return {
        path.relative_to(PACKAGES).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(package.rglob("*.py"))
    }


def _changes(file: str) -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGES.glob(f"*/{file}")):
        for text in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            name, _, changes = text.partition("\n")
            yield f"{path.parent.name}/{name}", changes


def _known_misses() -> dict[str, str]:
    lines = (PACKAGES / "known_misses.txt").read_text(encoding="utf-8").splitlines()
    return dict((line.split(": ", 1)[0], line.split(": ", 1)[1]) for line in lines if line.strip())


BUGS = dict(_changes("bugs.txt"))
RIGHT = dict(_changes("right.txt"))
KNOWN_MISSES = _known_misses()


def _changed(text: str, change: str) -> str:
    """The text with the `-` lines of a change replaced by its `+` lines."""
    lines = change.splitlines()
    old = [line[2:].rstrip() for line in lines if line.startswith("-")]
    new = [line[2:].rstrip() for line in lines if line.startswith("+")]
    pattern = r"^([ ]*)" + r"\n".join(
        rf"{'' if n == 0 else '[ ]*'}{re.escape(o.strip())}" for n, o in enumerate(old)
    )
    found = list(re.finditer(pattern + r"$", text, re.MULTILINE))
    assert len(found) == 1, f"{len(found)} places for:\n{change}"
    indented = "\n".join(found[0][1] + line if line else "" for line in new)
    return text[: found[0].start()] + indented + text[found[0].end() :]


def _with_bug(package: Path, changes: str) -> dict[str, str]:
    files = _files(package)
    for text in re.split(r"^= ", changes, flags=re.MULTILINE)[1:]:
        name, _, body = text.partition("\n")
        path = f"{package.name}/{name}"
        for change in CHANGE.findall(body):
            files[path] = _changed(files[path], change)
    return files


def _unmarked(files: dict[str, str]) -> dict[str, str]:
    return {
        path: "\n".join(MARK.sub("#", line) for line in text.splitlines()) + "\n"
        for path, text in files.items()
    }


def _marks(files: dict[str, str]) -> dict[tuple[str, int], set[str]]:
    numbered = (
        (path, n, line) for path, text in files.items() for n, line in enumerate(text.splitlines(), 1)
    )
    found = ((path, n, MARK.search(line)) for path, n, line in numbered)
    return {(path, n): set(re.split(r",\s*", mark[2])) for path, n, mark in found if mark}


def _wrong(files: dict[str, str]) -> list[str]:
    """Why a program with one bug fails: no report is at its line, or something else is said."""
    marks = _marks(files)
    reports = findings_shown(_unmarked(files))
    false = [f for f in reports if not _is_at_a_mark(f, marks)]
    said = [f"{f.code} {f.path}:{f.span.line}" for f in false]
    return ([] if len(false) < len(reports) else ["missed"]) + [f"false: {each}" for each in said]


def _is_at_a_mark(finding: Finding, marks: dict[tuple[str, int], set[str]]) -> bool:
    lines = range(finding.span.line, max(finding.span.line, finding.span.end_line) + 1)
    return any(_fits(finding.hazard, marks.get((finding.path, line), set())) for line in lines)


def _check_silent(files: dict[str, str]) -> None:
    reports = findings_shown(files)
    assert not reports, "\n".join(f"{f.code} {f.path}:{f.span.line} {f.message}" for f in reports)


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_in_a_package_is_found(name: str) -> None:
    files = _with_bug(PACKAGES / name.split("/")[0], BUGS[name])
    assert _marks(files), "no line is marked"
    wrong = _wrong(files)
    if name in KNOWN_MISSES:
        assert wrong, "this bug is found now: take it off the list of known misses"
    else:
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted({name.split("/")[0] for name in BUGS}))
def test_a_correct_package_is_silent(package: str) -> None:
    _check_silent(_files(PACKAGES / package))


@pytest.mark.parametrize("name", RIGHT)
def test_a_change_that_is_right_is_silent(name: str) -> None:
    files = _with_bug(PACKAGES / name.split("/")[0], RIGHT[name])
    if name in KNOWN_MISSES:
        assert findings_shown(files), "this is silent now: take it off the list of known misses"
    else:
        _check_silent(files)


def test_known_misses_exist_and_say_why() -> None:
    assert KNOWN_MISSES.keys() <= BUGS.keys() | RIGHT.keys()
    assert all(reason.strip() for reason in KNOWN_MISSES.values())
