"""Write `docs/coverage.md`, from the registry and `rules/tables/hazards.toml`: what is found, and by what.

    python benchmarks/make_coverage.py

A row is *found* or *partly* found by the rules that name it; `tests/hazards/` has a program for each.
Of any other row the table says what is planned, or why there is no rule.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"

sys.path.insert(0, str(ROOT))
from graphlint.rules.registry import all_rules  # noqa: E402
from graphlint.rules.rule import Rule  # noqa: E402

# What a row says when no rule covers it: the key in the table, and the answer in words.
ANSWERS = {
    "sentinel": "run time",
    "reason": "no",
}
MEANING = {
    "found": "found by a rule; a test program shows it",
    "partly": "found in part; a test program shows it, and the last column says what is left out",
    "run time": "only a run shows it, and a check of the sentinel sees it",
    "planned": "only a run shows it, and there is no check yet; the last column says what it would look at",
    "no": "cannot be told from the program",
}


@dataclass(frozen=True)
class Row:
    """A row of the catalogue with what covers it: `answer` is a key of `MEANING`, `note` explains it."""

    id: str
    title: str
    effect: str
    rules: tuple[type[Rule], ...]
    checks: tuple[str, ...]
    answer: str
    note: str


def rows() -> list[Row]:
    """Return every row in the order of the catalogue; a row without exactly one answer raises ValueError."""
    table = tomllib.loads((ROOT / "rules" / "tables" / "hazards.toml").read_text("utf-8"))
    return [row_of(raw) for raw in table["row"]]


def row_of(raw: dict[str, Any]) -> Row:
    """Return a row of the table with its rules and its answer."""
    rules = tuple(rule for rule in all_rules() if raw["id"] in rule.rows)
    if unknown := raw.keys() - {"id", "title", "effect", "checks", "missing", *ANSWERS}:
        raise ValueError(f"{raw['id']}: unknown keys {sorted(unknown)}")
    given = [(answer, raw[key]) for key, answer in ANSWERS.items() if key in raw]
    if rules:
        given.append(("partly", raw["missing"]) if "missing" in raw else ("found", ""))
    elif "missing" in raw:
        raise ValueError(f"{raw['id']}: something is missing from rules that do not exist")
    if len(given) != 1:
        raise ValueError(f"{raw['id']}: {len(given)} answers")
    answer, note = given[0]
    checks = tuple(raw.get("checks", ()))
    if answer == "run time" and not checks:
        answer = "planned"
    return Row(raw["id"], raw["title"], raw["effect"], rules, checks, answer, note)


def page(found: list[Row]) -> str:
    """Return the text of the page."""
    return "\n".join([_head(found), *_summary(found), "", *_table(found), ""])


def _head(found: list[Row]) -> str:
    return f"""\
# Which hazards are found

The catalogue has {len(found)} rows. `benchmarks/make_coverage.py` writes this page from
`rules/tables/hazards.toml` and from the rows that each rule names; a test keeps it true. *Found* means that a
program in `tests/hazards/` shows the hazard and is reported, not that every form of it is: the limits are on
the pages of the rules. *Checks* are those of the [sentinel](sentinel.md) that see the hazard in a run.
"""


def _summary(found: list[Row]) -> list[str]:
    count = Counter((row.answer, row.effect) for row in found)
    lines = ["| answer | silent | loud | cost | all | meaning |", "|---|--:|--:|--:|--:|---|"]
    for answer, meaning in MEANING.items():
        numbers = [count[answer, effect] for effect in ("silent", "loud", "cost")]
        lines.append(f"| {answer} | {' | '.join(map(str, (*numbers, sum(numbers))))} | {meaning} |")
    return lines


def _table(found: list[Row]) -> list[str]:
    lines = [
        "| row | hazard | effect | answer | rules | checks | what is left out, looked at or in the way |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for row in found:
        links = " ".join(f"[{rule.code}](../rules/{rule.page().name})" for rule in row.rules)
        checks = " ".join(f"[{check}](checks.md#{check})" for check in row.checks)
        cells = (row.id, row.title, row.effect, row.answer, links, checks, row.note)
        lines.append("".join(f"| {cell} " if cell else "| " for cell in cells) + "|")
    return lines


if __name__ == "__main__":
    PAGE.write_text(page(rows()), encoding="utf-8")
