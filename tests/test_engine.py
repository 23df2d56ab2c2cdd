"""What a run returns: findings selected, suppressed, unique and ordered; problems beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphlint.engine
from graphlint.config import Config
from graphlint.finding import Confidence, Finding, Hop, Level
from graphlint.problem import Problem
from graphlint.regions import RegionReport
from graphlint.report import CheckResult, Summary, merge, report_of
from tests.conftest import FakeAnalysis, finding


def check(project: Path, analysis: FakeAnalysis, config: Config | None = None) -> CheckResult:
    return graphlint.engine.check([project], config or Config(root=project), analyse=analysis)


def codes(result: CheckResult) -> list[tuple[str, int, str]]:
    return [(each.path, each.span.line, each.code) for each in result.findings]


def test_findings_are_ordered_by_place(project: Path, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding("b.py", 1), finding("a.py", 9), finding("a.py", 10), finding("a.py", 9, 5)]
    result = check(project, analysis)
    assert [(each.path, each.span.line, each.span.column) for each in result.findings] == [
        ("a.py", 9, 1),
        ("a.py", 9, 5),
        ("a.py", 10, 1),
        ("b.py", 1, 1),
    ]


def test_one_place_reached_by_several_chains_is_one_finding() -> None:
    short, long = (Hop("a.py", 1, "f"),), (Hop("a.py", 1, "f"), Hop("a.py", 2, "g"))
    sure = finding(chain=long)
    shorter = finding(chain=short)
    unsure = finding(chain=(), confidence=Confidence.LIKELY)
    mild = finding(chain=(), level=Level.WARNING)
    for order in ([sure, shorter, unsure, mild], [mild, unsure, shorter, sure]):
        assert merge(order) == [shorter]


def test_different_codes_at_one_place_are_kept() -> None:
    assert len(merge([finding(), finding(code="CG902")])) == 2


def test_rules_that_are_off_do_not_report(project: Path, analysis: FakeAnalysis) -> None:
    analysis.findings = [finding(code="CG901"), finding(code="CG902")]
    assert codes(check(project, analysis, Config(root=project, ignore=("CG901",)))) == [("a.py", 1, "CG902")]


def test_suppressions_apply_and_unused_ones_are_reported(project: Path, analysis: FakeAnalysis) -> None:
    (project / "a.py").write_text(
        "x = 1  # graphlint: ignore[CG903]\ny = 2  # graphlint: ignore[CG903, CG931]\n", encoding="utf-8"
    )
    analysis.findings = [finding("a.py", 1, code="CG903")]
    assert codes(check(project, analysis)) == [("a.py", 2, "CG901"), ("a.py", 2, "CG902")]


def test_a_finding_below_the_shown_level_still_uses_its_suppression(
    project: Path, analysis: FakeAnalysis
) -> None:
    (project / "a.py").write_text("x = 1  # graphlint: ignore[CG903]\n", encoding="utf-8")
    analysis.findings = [finding("a.py", 1, code="CG903", level=Level.NOTE)]
    assert check(project, analysis).findings == ()


def test_findings_about_suppressions_can_be_suppressed(project: Path, analysis: FakeAnalysis) -> None:
    (project / "a.py").write_text(
        "# graphlint: ignore-file[CG901] -- generated\nx = 1  # graphlint: ignore[CG903]\n", encoding="utf-8"
    )
    assert codes(check(project, analysis)) == []


@pytest.mark.parametrize(
    "data", [b"x = '\xff'  # graphlint: ignore[CG903]\n", b"\xef\xbb\xbf# graphlint: ignore[\n"]
)
def test_undecodable_and_marked_files_do_not_stop_a_run(
    project: Path, analysis: FakeAnalysis, data: bytes
) -> None:
    (project / "a.py").write_bytes(data)
    assert check(project, analysis).problems == ()


def test_a_suppression_behind_a_byte_order_mark_counts(project: Path, analysis: FakeAnalysis) -> None:
    (project / "a.py").write_bytes(b"\xef\xbb\xbfx = 1  # graphlint: ignore[CG903]\r\n")
    analysis.findings = [finding("a.py", 1, code="CG903")]
    assert codes(check(project, analysis)) == []


def test_an_unreadable_program_file_is_a_finding_and_a_problem(project: Path, analysis: FakeAnalysis) -> None:
    analysis.problems = [
        Problem("a.py", "cannot be parsed: '(' was never closed", 3, 4, is_source=True),
        Problem("other", "cannot be listed"),
    ]
    result = check(project, analysis)
    assert codes(result) == [("a.py", 3, "CG900")]
    assert len(result.problems) == 2


def test_a_crash_is_a_problem_and_no_exception(project: Path, analysis: FakeAnalysis) -> None:
    analysis.crash = ValueError("surprise\nsecond line")
    result = check(project, analysis)
    assert [problem.reason for problem in result.problems] == [
        "internal error, please report it: ValueError: surprise"
    ]


def test_code_nested_too_deeply_is_no_internal_error(project: Path, analysis: FakeAnalysis) -> None:
    analysis.crash = RecursionError("maximum recursion depth exceeded")
    result = check(project, analysis)
    assert [problem.reason for problem in result.problems] == ["nested too deeply to be followed"]


def test_a_crash_comes_through_when_asked_for(
    project: Path, analysis: FakeAnalysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLINT_DEBUG", "1")
    analysis.crash = KeyError("x")
    with pytest.raises(KeyError):
        check(project, analysis)


def test_the_summary_counts_files_and_what_was_captured(project: Path, analysis: FakeAnalysis) -> None:
    (project / "a.py").touch()
    analysis.regions = [RegionReport("a.py", 1, "with"), RegionReport("a.py", 9, "with")]
    analysis.captured_functions, analysis.unresolved_calls = 5, 3
    assert check(project, analysis).summary == Summary(1, 2, 5, 3)


@pytest.mark.parametrize(
    ("level", "confidence", "shown"),
    [
        (Level.ERROR, Confidence.DEFINITE, 1),
        (Level.WARNING, Confidence.LIKELY, 4),
        (Level.NOTE, Confidence.LIKELY, 6),
        (Level.NOTE, Confidence.POSSIBLE, 9),
    ],
)
def test_level_and_confidence_say_what_is_shown(
    project: Path, analysis: FakeAnalysis, level: Level, confidence: Confidence, shown: int
) -> None:
    analysis.findings = [
        finding(line=10 * index + number, level=each, confidence=doubt)
        for index, each in enumerate(Level, 1)
        for number, doubt in enumerate(Confidence)
    ]
    report = report_of(check(project, analysis), level, confidence)
    assert (len(report.findings), report.hidden) == (shown, 9 - shown)


def test_the_result_does_not_depend_on_the_order_of_raw_findings(
    project: Path, analysis: FakeAnalysis
) -> None:
    raw: list[Finding] = [
        finding("a.py", 1, message="one"),
        finding("a.py", 1, message="two"),
        finding("b.py", 2, chain=(Hop("a.py", 1, "f"),)),
        finding("b.py", 2, chain=(Hop("b.py", 1, "g"),)),
    ]
    analysis.findings = raw
    first = check(project, analysis)
    analysis.findings = raw[::-1]
    assert check(project, analysis).findings == first.findings


def test_a_rule_is_off_in_some_files_and_its_suppressions_there_are_not_judged(
    project: Path, analysis: FakeAnalysis
) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text("x = 1  # graphlint: ignore[CG302]\n", encoding="utf-8")
    analysis.findings = [finding("a.py", 2, code="CG302"), finding("b.py", 2, code="CG302")]
    config = Config(root=project, per_file_ignores=(("a.py", ("CG3",)),))
    result = graphlint.engine.check([project], config, use_cache=False)
    assert codes(result) == [("b.py", 1, "CG901"), ("b.py", 2, "CG302")]
