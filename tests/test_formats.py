"""What each output format prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

from graphlint.finding import Confidence, Finding, Hop, Level
from graphlint.formats import FORMATS, format_named
from graphlint.formats.style import Style, wants_color
from graphlint.problem import Problem
from graphlint.report import Report, Summary
from graphlint.sources import Sources
from tests.conftest import finding

CHAIN = (Hop("runner.py", 40, "Runner.capture"), Hop("pkg/model.py", 7, "Model.forward"))


def render(
    name: str,
    findings: Sequence[Finding],
    folder: Path | None = None,
    *,
    style: Style | None = None,
    problems: Sequence[Problem] = (),
    hidden: int = 0,
) -> str:
    files = {file.name: file for file in folder.iterdir()} if folder else {}
    report = Report(tuple(findings), tuple(problems), Summary(1204, 1, 12, 0), Sources(files), hidden)
    return "".join(format_named(name)(report, style or Style()))


def test_text_shows_the_place_the_chain_and_the_way_on(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    n = x.sum().item()\n", encoding="utf-8")
    message = "`.item()` waits for the device"
    shown = finding(line=2, column=9, end=(2, 23), message=message, chain=CHAIN, help="keep it on the device")
    assert render("text", [shown], tmp_path) == (
        "a.py:2:9: error: CG901 [unused-suppression] `.item()` waits for the device\n"
        "  |\n"
        "2 |     n = x.sum().item()\n"
        "  |         ^^^^^^^^^^^^^^\n"
        "    runner.py:40    Runner.capture\n"
        "    pkg/model.py:7  Model.forward\n"
        "  help: keep it on the device\n"
        "  explain with: graphlint explain CG901\n"
        "\n"
        "1 finding: 1 error (1,204 files, 1 capture region, 12 captured functions, 0 unresolved calls)\n"
    )


def test_text_says_how_bad_and_how_sure() -> None:
    shown = [finding(level=Level.WARNING), finding(line=2, confidence=Confidence.LIKELY)]
    headers = [line for line in render("text", shown).splitlines() if line.startswith("a.py")]
    assert [line.split(": ")[1] for line in headers] == ["warning", "likely error"]


def test_text_says_that_a_function_was_too_large() -> None:
    report = Report((), (), Summary(1, 1, 0, 0, 2), Sources({}), 0)
    closing = "".join(format_named("text")(report, Style())).splitlines()[-1]
    assert closing == "Too large to follow to the end: 2 functions, in graphlint regions"


def test_text_says_where_the_unresolved_calls_are_listed() -> None:
    report = Report((), (), Summary(1, 1, 0, 2), Sources({}), 0)
    assert "".join(format_named("text")(report, Style())).splitlines() == [
        "No findings (1 file, 1 capture region, 0 captured functions, 2 unresolved calls)",
        "For the unresolved calls: graphlint regions",
    ]


def test_text_marks_every_line_of_a_span_and_stops_after_four(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n".join(["f(", *["    x,"] * 9, ")"]), encoding="utf-8")
    output = render("text", [finding(end=(11, 2))], tmp_path, style=Style(quiet=True))
    assert output.splitlines()[1:-2] == [
        "  |",
        "1 | f(",
        "  | ^^",
        *[line for number in (2, 3, 4) for line in (f"{number} |     x,", "  |     ^^")],
        ". |",
    ]


def test_text_aligns_carets_below_tabs_and_wide_characters(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\tname = '日本' + x.item()\n", encoding="utf-8")
    output = render("text", [finding(column=16, end=(1, 24))], tmp_path)
    assert "1 |     name = '日本' + x.item()\n  |                     ^^^^^^^^\n" in output


def test_text_cuts_long_lines_around_the_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"x = [{'1, ' * 5000}y.item()]\n", encoding="utf-8")
    output = render("text", [finding(column=15006, end=(1, 15014))], tmp_path)
    source, carets = output.splitlines()[2:4]
    assert len(source) < 200
    assert source[carets.index("^") :].startswith("y.item()")


def test_text_never_writes_control_characters_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = '\x1b[2J\x9b'\n", encoding="utf-8")
    output = render("text", [finding(message="reads \x1b]0;title\x07 here\nand there")], tmp_path)
    assert not {"\x1b", "\x9b", "\x07"} & set(output)


@pytest.mark.parametrize("line", [0, 99])
def test_text_does_without_an_excerpt_where_there_is_no_source(tmp_path: Path, line: int) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    output = render("text", [finding(line=line), finding("gone.py")], tmp_path)
    assert "\n  |" not in output and "explain with" in output


def test_text_counts_levels_what_is_hidden_and_what_is_missing() -> None:
    output = render(
        "text",
        [finding(), finding(level=Level.NOTE), finding(level=Level.NOTE)],
        problems=[Problem("b.py", "cannot be read")],
        hidden=4,
    )
    assert "3 findings: 1 error, 2 notes; 4 more below the shown level or confidence (" in output
    assert output.endswith("Incomplete: 1 problem kept something from being checked\n")


def test_text_without_findings_is_one_line_and_quiet_is_none() -> None:
    assert render("text", []).startswith("No findings (")
    assert render("text", [], style=Style(quiet=True)) == ""


def test_colour_changes_nothing_but_colour(tmp_path: Path) -> None:
    import re

    (tmp_path / "a.py").write_text("x = y.item()\n", encoding="utf-8")
    shown = [finding(column=5, end=(1, 13), chain=CHAIN, help="no")]
    colored = render("text", shown, tmp_path, style=Style(color=True))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == render("text", shown, tmp_path)


@pytest.mark.parametrize(
    ("environment", "is_terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_who_decides_about_colour(environment: dict[str, str], is_terminal: bool, expected: bool) -> None:
    assert wants_color(environment, is_terminal=is_terminal) is expected


def test_concise_is_one_line_a_finding() -> None:
    output = render("concise", [finding(line=3, column=4, message="one\ntwo"), finding("b.py")])
    assert (
        output == "a.py:3:4: CG901 one\N{REPLACEMENT CHARACTER}two\nb.py:1:1: CG901 something is recorded\n"
    )


SCHEMA = json.loads((Path(__file__).parents[1] / "docs/schema/check.json").read_text(encoding="utf-8"))


def test_json_follows_its_schema() -> None:
    document = json.loads(render("json", [finding(chain=CHAIN), finding("日本.py")]))
    jsonschema.validate(document, SCHEMA)
    assert document["findings"][0]["chain"][0] == {
        "path": "runner.py",
        "line": 40,
        "function": "Runner.capture",
    }
    assert document["summary"]["files"] == 1204
    assert document["incomplete"] is False


def test_json_says_what_to_do_and_whether_something_was_left_out() -> None:
    problems = [Problem("a.py", "cannot be read")]
    document = json.loads(render("json", [finding(help="keep it on the device")], problems=problems))
    assert document["findings"][0]["help"] == "keep it on the device"
    assert document["incomplete"] is True


def test_json_without_findings_is_a_document_too() -> None:
    jsonschema.validate(json.loads(render("json", [])), SCHEMA)


def test_github_annotates_the_worst_first_with_everything_escaped() -> None:
    bad = finding("a,b:c.py", 3, 4, end=(3, 9), message="50% of\nit", chain=CHAIN[:1], help="do not")
    output = render("github", [finding("a.py", 1, level=Level.NOTE), bad]).splitlines()
    assert output == [
        "::error file=a%2Cb%3Ac.py,line=3,endLine=3,col=4,endColumn=8,title=CG901 unused-suppression"
        "::50%25 of%0Ait%0Arunner.py:40  Runner.capture%0Ado not",
        "::notice file=a.py,line=1,endLine=1,col=1,endColumn=1,title=CG901 unused-suppression"
        "::something is recorded",
    ]


def test_github_gives_no_columns_for_several_lines() -> None:
    assert "col=" not in render("github", [finding(end=(2, 3))])


def test_github_stays_within_its_limits_and_counts_the_rest() -> None:
    many = [finding(line=line, level=level) for level in Level for line in range(1, 31)]
    output = render("github", many).splitlines()
    for command in ("::error ", "::warning ", "::notice "):
        assert sum(line.startswith(command) for line in output) == 10
    assert sum(not line.startswith("::") for line in output) == 61
    assert output[-1] == "::notice title=graphlint::61 more findings in the log of this step"


def test_github_prefers_sure_findings_among_equally_bad_ones() -> None:
    unsure, sure = finding("a.py", confidence=Confidence.LIKELY), finding("b.py")
    assert render("github", [unsure, sure]).index("b.py") < render("github", [unsure, sure]).index("a.py")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_the_same_twice(name: str) -> None:
    findings = [finding(line=line, chain=CHAIN) for line in range(1, 20)]
    assert render(name, findings) == render(name, findings)


def test_gitlab_gets_a_list_with_fingerprints_that_differ() -> None:
    shown = [finding(), finding(line=7, level=Level.WARNING), finding(line=8, level=Level.NOTE)]
    issues = json.loads(render("gitlab", shown))
    assert len({issue["fingerprint"] for issue in issues}) == 3
    assert [issue["severity"] for issue in issues] == ["major", "minor", "info"]
    assert issues[1]["location"] == {"path": "a.py", "lines": {"begin": 7}}
    assert set(issues[0]) == {"description", "check_name", "fingerprint", "severity", "location"}


def test_statistics_count_by_rule() -> None:
    many = [finding(line=line) for line in range(1, 12)]
    other = finding(code="CG302", name="scalar-read-in-capture")
    assert render("statistics", [*many, other]) == (
        "11  CG901  unused-suppression\n 1  CG302  scalar-read-in-capture\n"
    )
    assert render("statistics", []) == ""


def test_text_counts_what_the_baseline_accepts() -> None:
    report = Report((), (), Summary(1, 1, 0, 0), Sources({}), 0, 3)
    closing = "".join(format_named("text")(report, Style()))
    assert closing.startswith("No findings; 3 in the baseline (1 file, ")
