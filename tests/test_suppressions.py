"""Which findings a comment accepts, and what is said about comments that accept none."""

from __future__ import annotations

import pytest

from graphlint.finding import Finding
from graphlint.suppressions import Suppressions, suppressions_of
from tests.conftest import finding


def kept(text: str, *findings: Finding) -> list[int]:
    """The lines of the findings that remain."""
    return [each.span.line for each in suppressions_of("a.py", text).apply(findings)]


def faults(text: str) -> list[str]:
    return [fault.message for fault in suppressions_of("a.py", text).faults]


def unused(suppressions: Suppressions) -> list[tuple[int, int]]:
    return [(each.span.line, each.span.column) for each in suppressions.unused(lambda code: True)]


def test_a_comment_behind_code_accepts_its_own_line_only() -> None:
    text = "x = 1\ny = 2  # graphlint: ignore[CG901] -- because\nz = 3\n"
    assert kept(text, finding(line=1), finding(line=2), finding(line=3)) == [1, 3]


def test_only_the_codes_that_are_named_are_accepted() -> None:
    text = "y = 2  # graphlint: ignore[CG902]\n"
    assert kept(text, finding(line=1)) == [1]


@pytest.mark.parametrize(
    "comment",
    [
        "# graphlint: ignore[CG901]",
        "#graphlint:ignore[CG901]",
        "# graphlint: ignore[ CG902 , CG901 ] -- several",
        "# graphlint: ignore[unused-suppression] -- by name",
        "# graphlint: ignore[cg901]",
        "# noqa: E501  # graphlint: ignore[CG901]",
        "# graphlint: ignore[CG902] # graphlint: ignore[CG901]",
    ],
)
def test_ways_to_write_it(comment: str) -> None:
    assert kept(f"y = 2  {comment}\n", finding(line=1)) == []


@pytest.mark.parametrize(
    "line",
    [
        's = "# graphlint: ignore[CG901]"',
        "s = '''# graphlint: ignore[CG901]'''",
        "y = 2  # graphlint: ignored[CG901]",
        "y = 2  # graphlint: ignore-line[CG901]",
        "y = 2  # graphlint ignore[CG901]",
        "y = 2  # graphlint: ignore CG901",
        "y = 2  # graphlint: ignore[CG901",
        "y = 2  # graphlint: captured",
    ],
)
def test_what_looks_like_one_and_is_none(line: str) -> None:
    assert kept(f"{line}\n", finding(line=1)) == [1]


@pytest.mark.parametrize("place", [1, 3])
def test_the_first_and_the_last_line_of_a_long_finding_may_carry_it(place: int) -> None:
    lines = ["f(", "    1,", ")"]
    lines[place - 1] += "  # graphlint: ignore[CG901]"
    assert kept("\n".join(lines), finding(line=1, end=(3, 2))) == []


def test_a_line_in_the_middle_does_not_carry_it() -> None:
    text = "f(\n    1,  # graphlint: ignore[CG901]\n)\n"
    assert kept(text, finding(line=1, end=(3, 2))) == [1]


def test_a_span_that_ends_at_a_line_start_ends_on_the_line_before() -> None:
    text = "f(\n)  # graphlint: ignore[CG901]\nx = 1\n"
    assert kept(text, finding(line=1, end=(3, 1))) == []


@pytest.mark.parametrize(
    "text",
    [
        's = f"""\n{x.item()}\n"""  # graphlint: ignore[CG901]\n',
        "s = 1 + \\\n  x.item() + \\\n  1  # graphlint: ignore[CG901]\n",
    ],
)
def test_lines_that_cannot_hold_a_comment_take_it_from_the_next_that_can(text: str) -> None:
    assert kept(text, finding(line=2)) == []


def test_a_comment_of_its_own_accepts_the_statement_directly_below() -> None:
    text = "# graphlint: ignore[CG901]\nf(\n    x.item(),\n)\ny = 2\n"
    assert kept(text, finding(line=2), finding(line=3), finding(line=5)) == [5]


def test_a_blank_line_ends_its_reach() -> None:
    text = "# graphlint: ignore[CG901]\n\ny = 2\n"
    assert kept(text, finding(line=3)) == [3]


def test_other_comments_may_stand_between() -> None:
    text = "# graphlint: ignore[CG901] -- the reason is\n# long\ny = 2\n"
    assert kept(text, finding(line=3)) == []


def test_a_comment_above_decorators_reaches_the_function_line_and_not_its_body() -> None:
    text = "# graphlint: ignore[CG901]\n@one\n@two(\n    3)\ndef f(\n    a):\n    return a.item()\n"
    assert kept(text, finding(line=2), finding(line=5), finding(line=7)) == [7]


def test_a_comment_between_decorators_reaches_down_only() -> None:
    text = "@one\n# graphlint: ignore[CG901]\n@two\ndef f(): pass\n"
    assert kept(text, finding(line=1), finding(line=3), finding(line=4)) == [1]


def test_an_indented_comment_above_a_statement() -> None:
    text = "if x:\n    # graphlint: ignore[CG901]\n    y = 2\nz = 3\n"
    assert kept(text, finding(line=3), finding(line=4)) == [4]


def test_a_comment_above_does_not_accept_what_only_ends_below() -> None:
    text = "with g:\n    a()\n    # graphlint: ignore[CG901]\n    b()\n"
    assert kept(text, finding(line=1, end=(4, 8))) == [1]


def test_ignore_file_accepts_everywhere_from_anywhere() -> None:
    text = "x = 1\n\n# graphlint: ignore-file[CG901] -- generated\n"
    assert kept(text, finding(line=1), finding(line=9, code="CG902")) == [9]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_matter(newline: str) -> None:
    text = newline.join(["x = 1", "y = 2  # graphlint: ignore[CG901]", "z = 3", ""])
    assert kept(text, finding(line=1), finding(line=2)) == [1]


def test_a_form_feed_is_no_line_end() -> None:
    text = "x = 1\n\x0c\ny = 2  # graphlint: ignore[CG901]\n"
    assert kept(text, finding(line=3)) == []


@pytest.mark.parametrize(
    "text",
    [
        "f(  # graphlint: ignore[CG901]\n",
        's = """  # graphlint: ignore[CG901]\n',
        "if x:\n        a\n    b  # graphlint: ignore[CG901]\n",
    ],
)
def test_a_text_that_cannot_be_tokenised_has_none(text: str) -> None:
    result = suppressions_of("a.py", text)
    assert (result.entries, result.faults) == ([], [])


def test_a_comment_without_codes_suppresses_nothing_and_is_reported() -> None:
    text = "y = 2  # graphlint: ignore -- later\n"
    assert kept(text, finding(line=1)) == [1]
    assert faults(text) == ["`ignore` names no rule and suppresses nothing; write `ignore[CGnnn]`"]
    assert faults("# graphlint: ignore-file[]\n") == [
        "`ignore-file` names no rule and suppresses nothing; write `ignore-file[CGnnn]`"
    ]


def test_other_comments_that_cannot_take_effect_are_reported() -> None:
    assert "closing bracket" in faults("y = 2  # graphlint: ignore[CG901\n")[0]
    assert "a line of its own" in faults("y = 2  # graphlint: ignore-file[CG901]\n")[0]


def test_an_unknown_code_is_reported_where_it_stands_with_the_nearest_one() -> None:
    result = suppressions_of("a.py", "y = 2  # graphlint: ignore[CG901, unused-supression]\n")
    (fault,) = result.faults
    assert fault.code == "CG902"
    assert fault.message == "unknown rule `unused-supression`; did you mean `unused-suppression`?"
    assert (fault.span.column, fault.span.end_column) == (35, 52)


def test_a_prefix_is_no_code() -> None:
    assert faults("y = 2  # graphlint: ignore[CG90]\n") == [
        "unknown rule `CG90`; name a single one, CG900 to CG903"
    ]


def test_each_code_that_accepts_nothing_is_unused() -> None:
    text = "y = 2  # graphlint: ignore[CG901, CG902]\n"
    result = suppressions_of("a.py", text)
    assert result.apply([finding(line=1), finding(line=1, column=3)]) == []
    assert unused(result) == [(1, 35)]
    assert [entry.used for entry in result.entries] == [2, 0]


def test_a_rule_that_is_off_leaves_no_unused_suppression() -> None:
    result = suppressions_of("a.py", "y = 2  # graphlint: ignore[CG901]\n")
    assert result.unused(lambda code: code != "CG901") == []


def test_columns_count_characters() -> None:
    result = suppressions_of("a.py", "é = '日本'  # graphlint: ignore[CG901]\n")
    assert unused(result) == [(1, 31)]
