"""What the text of a test says: which parts are known when the whole is, and what is asked for None."""

from __future__ import annotations

import pytest

from graphlint.analysis import answers
from graphlint.facts import nodes as ast


def _test(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "answer", "known"),
    [
        ("not a", True, ["a is False"]),
        ("not not a", True, ["a is True"]),
        ("a and not (b or c)", True, ["a is True", "b is False", "c is False"]),
        ("a and b", False, []),
        ("a or (b and c)", True, []),
        ("not (a or b)", True, ["a is False", "b is False"]),
    ],
)
def test_parts_are_known_where_none_of_them_can_differ(text: str, answer: bool, known: list[str]) -> None:
    parts = answers.parts(_test(text), answer)
    assert [f"{ast.unparse(part)} is {its_answer}" for part, its_answer in parts] == known


@pytest.mark.parametrize("text", ["x is 0", "x == None", "None is x", "x is None is y", "x"])
def test_other_tests_do_not_ask_for_none(text: str) -> None:
    assert not answers.asks_for_none(_test(text))


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("x is None", True, True),
        ("x is None", False, False),
        ("x is not None", True, False),
        ("x is not None", False, True),
    ],
)
def test_none_is_found_by_the_operator_and_the_answer(text: str, answer: bool, found: bool) -> None:
    test = _test(text)
    assert answers.asks_for_none(test)
    assert answers.finds_none(test, answer) is found
