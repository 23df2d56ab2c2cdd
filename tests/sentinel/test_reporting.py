"""Findings of the sentinel in the linter's formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from graphlint.finding import Level
from graphlint.formats import FORMATS
from graphlint.sentinel import reporting
from graphlint.sentinel.allowing import Allowed, Table
from graphlint.sentinel.findings import Finding
from graphlint.sentinel.session import Watch
from tests.sentinel.hazards import at, seen
from tests.test_sarif import SARIF

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "check.json"
PROGRAM = """\
def capture(self):
    with torch.cuda.graph(self.graph):
        self.y = self.x * 2

def step(self):
    self.x = self.x + 1
    self.graph.replay()

engine.capture()
for _ in range(3): engine.step()
"""


@pytest.fixture
def finding(tmp_path: Path) -> Finding:
    """Rebound in line 6, captured in line 2, replayed in line 7 of the program."""
    file = tmp_path / "engine.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return seen(
        captured=(at(file, 2, "Engine.capture"), at(file, 9, "<module>")),
        touched=(at(file, 6, "Engine.step"), at(file, 10, "<module>")),
        replayed=(at(file, 7, "Engine.step"), at(file, 10, "<module>")),
        times=3,
    )


def outcome(root: Path, *findings: Finding, table: Table | None = None, unseen: int = 0) -> reporting.Outcome:
    watch = Watch("canary")
    watch.begin([0, 0])
    for finding in findings:
        watch.add(finding)
    for number in range(unseen):
        watch.miss(f"kernel {number}: no parameters")
    return reporting.outcome_of(watch, table or Table(), root)


def test_text_shows_all_three_places_with_their_lines(tmp_path: Path, finding: Finding) -> None:
    assert reporting.rendered("text", outcome(tmp_path, finding).report) == (
        "engine.py:6:5: error: CG101 [rebound-static-input] `x` is another tensor\n"
        "  |\n"
        "6 |     self.x = self.x + 1\n"
        "  |     ^^^^^^^^^^^^^^^^^^^\n"
        "    captured  engine.py:2   Engine.capture  with torch.cuda.graph(self.graph):\n"
        "              engine.py:9   <module>        engine.capture()\n"
        "    touched   engine.py:6   Engine.step     self.x = self.x + 1\n"
        "              engine.py:10  <module>        for _ in range(3): engine.step()\n"
        "    replayed  engine.py:7   Engine.step     self.graph.replay()\n"
        "              engine.py:10  <module>        for _ in range(3): engine.step()\n"
        "  seen 3 times, first at replay 2 of graph 1 (check: names)\n"
        "  help: write into the captured tensor: `copy_`, `fill_` or `[...] =`\n"
        "  explain with: graphlint explain CG101\n"
        "\n"
        "1 finding: 1 error (mode canary, 0 graphs, 0 replays)\n"
    )


def test_what_is_missing_is_left_out(tmp_path: Path, finding: Finding) -> None:
    place = finding.captured[0]
    text = reporting.rendered("text", outcome(tmp_path, seen(captured=(place,), replay=0)).report)
    assert "engine.py:2:5: error" in text
    assert "touched" not in text and "replayed" not in text
    assert "  seen at graph 1 (check: names)\n" in text


def test_a_finding_is_shown_where_memory_was_touched_else_replayed_else_captured(
    tmp_path: Path, finding: Finding
) -> None:
    captured, touched, replayed = finding.captured, finding.touched, finding.replayed
    for found, line in (
        (seen(captured=captured, touched=touched, replayed=replayed), 6),
        (seen(captured=captured, replayed=replayed), 7),
        (seen(captured=captured), 2),
    ):
        (shown,) = outcome(tmp_path, found).findings
        assert (shown.path, shown.span.line) == ("engine.py", line)


def test_deep_stacks_and_long_lines_are_cut(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(f"call({'x' * 100})\n", encoding="utf-8")
    deep = seen(captured=tuple(at(tmp_path / "deep.py") for _ in range(9)))
    text = reporting.rendered("text", outcome(tmp_path, deep).report)
    assert text.count("step  call(x") == 4
    assert "… 5 more frames" in text
    assert max(map(len, text.splitlines()[4:])) < 100


def test_files_outside_of_the_folder_and_files_that_are_gone(tmp_path: Path, finding: Finding) -> None:
    (inside,) = outcome(tmp_path, seen(captured=(at("<string>", 5),))).findings
    assert (inside.path, inside.span.line, inside.span.column) == ("<string>", 5, 1)
    (outside,) = outcome(tmp_path / "below", finding).findings
    assert outside.path == str(tmp_path / "engine.py")


def test_notes_and_what_is_only_possible_are_counted_not_shown(tmp_path: Path, finding: Finding) -> None:
    note = seen(captured=finding.captured, level="note")
    doubtful = seen(captured=finding.touched, confidence="possible")
    told = outcome(tmp_path, finding, note, doubtful)
    assert [each.level for each in told.findings] == [Level.ERROR]
    assert "1 finding: 1 error; 2 more not shown" in reporting.rendered("text", told.report)


def test_what_the_project_allows_is_counted_not_shown(tmp_path: Path, finding: Finding) -> None:
    needed = Allowed("CG101", "*.py:Engine.step", "reset by hand", str(tmp_path))
    idle = Allowed("CG201", "*.py", "old", str(tmp_path))
    table = Table((needed, idle))
    told = outcome(tmp_path, finding, table=table)
    assert told.findings == () and told.used == [needed]
    assert "No findings; 1 allowed" in reporting.rendered("text", told.report)
    assert reporting.unused(table, told.used) == ["allowed and not found in this run: CG201 in `*.py` (old)"]


def test_only_the_first_of_many_are_shown(tmp_path: Path, finding: Finding) -> None:
    many = [seen(captured=(at(tmp_path / "engine.py", line),)) for line in range(1, 8)]
    report = reporting.at_most(outcome(tmp_path, *many).report, 3)
    assert [each.span.line for each in report.findings] == [1, 2, 3]
    assert "3 findings: 3 errors; 4 more not shown" in reporting.rendered("text", report)


def test_text_says_what_was_not_seen(tmp_path: Path) -> None:
    text = reporting.rendered("text", outcome(tmp_path, unseen=5).report)
    assert text.splitlines() == [
        "No findings (mode canary, 0 graphs, 0 replays)",
        "Not seen: kernel 0: no parameters",
        "Not seen: kernel 1: no parameters",
        "Not seen: kernel 2: no parameters",
        "Not seen: 2 more reasons",
    ]


def test_json_follows_the_linters_schema(tmp_path: Path, finding: Finding) -> None:
    report = outcome(tmp_path, finding, seen(captured=()), unseen=1).report
    document = json.loads(reporting.rendered("json", report))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    shown: dict[str, Any] = document["findings"][0]
    assert (shown["path"], shown["line"], shown["code"], shown["hazard"]) == (
        "engine.py",
        6,
        "CG101",
        "rebind-static-input",
    )
    assert [hop["line"] for hop in shown["chain"]] == [2, 6, 7]
    assert [hop["line"] for hop in shown["evidence"]["captured"]] == [2, 9]
    assert (shown["evidence"]["check"], shown["evidence"]["times"]) == ("names", 3)
    assert document["watched"] == {
        "mode": "canary",
        "graphs": 0,
        "replays": 0,
        "unseen": ["kernel 0: no parameters"],
    }


def test_sarif_follows_the_standard(tmp_path: Path, finding: Finding) -> None:
    document = json.loads(reporting.rendered("sarif", outcome(tmp_path, finding, unseen=1).report))
    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    (result,) = run["results"]
    assert [stack["message"]["text"] for stack in result["stacks"]] == ["captured", "touched", "replayed"]
    assert result["occurrenceCount"] == 3
    assert result["properties"]["check"] == "names"
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note == {"level": "note", "message": {"text": "not seen: kernel 0: no parameters"}}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_linter_can_print_them(tmp_path: Path, finding: Finding, name: str) -> None:
    assert "CG101" in reporting.rendered(name, outcome(tmp_path, finding).report)
