"""What graphlint says of every measured expression is what a GPU did with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.analysis import measured

# More may agree than the page says; fewer may not.
EXPECTED = json.loads((measured.MEASURED / "linter_disagreements.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[measured.Verdict]:
    return measured.verdicts(tmp_path_factory.mktemp("measured"))


def test_every_disagreement_is_known_and_has_a_reason(verdicts: list[measured.Verdict]) -> None:
    unknown = {f"{v.row.source}  [{v.row.id}]" for v in verdicts if not v.agrees and v.row.id not in EXPECTED}
    assert not unknown


def test_agreement_only_grows(verdicts: list[measured.Verdict]) -> None:
    page = (measured.MEASURED / "linter-agreement.md").read_text("utf-8")
    agree, rows = map(int, re.findall(r"\*\*(\d+) of (\d+) agree", page)[0])
    assert len(verdicts) >= rows
    assert sum(verdict.agrees for verdict in verdicts) >= agree


def test_a_program_runs_the_expression_before_the_capture_and_inside(tmp_path: Path) -> None:
    text, line = measured.program(1, "x.clone().__setitem__((slice(None), 0), s)")
    lines = text.splitlines()
    assert lines[line - 1] == "        target[:, 0] = s"
    assert lines.count("    target[:, 0] = s") == 1
