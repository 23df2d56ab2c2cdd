"""The page on the architecture names every module of the analysis, and none that is gone."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", PAGE)}


def _modules(*folders: str) -> set[str]:
    return {file.name for folder in folders for file in (REPOSITORY / folder).rglob("*.py")}


def test_each_module_of_the_analysis_has_its_place_on_the_page() -> None:
    modules = {file.name for file in (REPOSITORY / "graphlint" / "analysis").glob("*.py")}
    assert modules - {"__init__.py"} - NAMED == set()


def test_the_page_names_no_module_that_is_gone() -> None:
    assert NAMED - _modules("graphlint", "rules", "sentinel", "tests") == set()
