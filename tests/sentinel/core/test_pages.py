"""Each check has its section in docs/checks.md."""

from __future__ import annotations

import re
from pathlib import Path

from graphlint.sentinel.core.checks import CHECKS

PAGE = (Path(__file__).parents[3] / "docs" / "checks.md").read_text(encoding="utf-8")


def test_every_check_has_a_section() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert {check.name for check in CHECKS} <= set(headings)
    assert len(headings) == len(set(headings))
