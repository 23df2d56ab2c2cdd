"""Findings of a run that a comment in the program accepts, and what helps against the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphlint.sentinel import reporting
from graphlint.sentinel.advice import help_for
from graphlint.sentinel.allowing import Table
from graphlint.sentinel.session import Watch
from tests.sentinel.hazards import at, seen

PLAIN = """\
def capture(self):
    with torch.cuda.graph(
        self.graph
    ):
        self.y = self.x * 2

def step(self):
    self.x = self.x + 1
    self.graph.replay(
    )

engine.capture()
engine.step()
"""
CAPTURED, TOUCHED, REPLAYED, CALLED = 2, 8, 9, 13


def shown(root: Path, text: str, shift: int = 0) -> tuple[int, int]:
    """How many findings are left of one with these places in a program, and how many were accepted."""
    file = root / "engine.py"
    file.write_text(text, encoding="utf-8")
    watch = Watch("watch")
    watch.add(
        seen(
            captured=(at(file, CAPTURED + shift, "capture"), at(file, CALLED - 1 + shift, "<module>")),
            touched=(at(file, TOUCHED + shift, "step"), at(file, CALLED + shift, "<module>")),
            replayed=(at(file, REPLAYED + shift, "step"), at(file, CALLED + shift, "<module>")),
        )
    )
    report = reporting.outcome_of(watch, Table(), root).report
    return len(report.findings), report.accepted


def commented(line: int, comment: str) -> str:
    lines = PLAIN.split("\n")
    lines[line - 1] += f"  {comment}"
    return "\n".join(lines)


@pytest.mark.parametrize("line", [CAPTURED, CAPTURED + 2, TOUCHED, REPLAYED, REPLAYED + 1])
def test_a_comment_at_any_of_the_three_places(tmp_path: Path, line: int) -> None:
    assert shown(tmp_path, commented(line, "# graphlint: ignore[CG101] -- captured anew below")) == (0, 1)


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        (TOUCHED, "# graphlint: ignore[CG201]"),  # another rule
        (TOUCHED, "# graphlint: ignore"),  # no rule
        (CALLED, "# graphlint: ignore[CG101]"),  # who called the place
        (CAPTURED + 3, "# graphlint: ignore[CG101]"),  # in the body of the statement
        (TOUCHED - 1, "# graphlint: ignore[CG101]"),  # the line before
    ],
)
def test_a_comment_that_does_not_cover_it(tmp_path: Path, line: int, comment: str) -> None:
    assert shown(tmp_path, commented(line, comment)) == (1, 0)


def test_a_comment_for_a_whole_file(tmp_path: Path) -> None:
    assert shown(tmp_path, "# graphlint: ignore-file[rebound-static-input]\n" + PLAIN, shift=1) == (0, 1)


def test_a_comment_above_the_statement(tmp_path: Path) -> None:
    line = "    self.x = self.x + 1"
    text = PLAIN.replace(line, f"    # graphlint: ignore[CG101]\n{line}")
    file = tmp_path / "engine.py"
    file.write_text(text, encoding="utf-8")
    watch = Watch("watch")
    watch.add(seen(touched=(at(file, TOUCHED + 1, "step"),)))
    assert reporting.outcome_of(watch, Table(), tmp_path).report.findings == ()


def test_a_text_that_looks_like_a_comment(tmp_path: Path) -> None:
    text = PLAIN.replace("self.x + 1", 'self.x + len("# graphlint: ignore[CG101]")')
    assert shown(tmp_path, text) == (1, 0)


def test_a_place_without_a_file(tmp_path: Path) -> None:
    watch = Watch("watch")
    watch.add(seen(touched=(at(tmp_path / "<string>", 3, "step"),)))
    assert len(reporting.outcome_of(watch, Table(), tmp_path).report.findings) == 1


def test_the_report_says_what_helps(tmp_path: Path) -> None:
    file = tmp_path / "engine.py"
    file.write_text(PLAIN, encoding="utf-8")
    watch = Watch("watch")
    watch.add(seen(touched=(at(file, TOUCHED, "step"),)))
    report = reporting.outcome_of(watch, Table(), tmp_path).report
    (found,) = json.loads(reporting.rendered("json", report))["findings"]
    assert found["help"] == help_for("CG101", "names") != ""


def test_every_code_that_the_sentinel_reports_has_help() -> None:
    folder = Path(reporting.__file__).parent
    files = [path for path in folder.rglob("*.py") if "virtual" not in path.parts]
    used = {code for path in files for code in re.findall(r'"(CG\d{3})"', path.read_text(encoding="utf-8"))}
    assert len(used) > 30
    assert not {code for code in used if not help_for(code, "calls-in-capture")}
