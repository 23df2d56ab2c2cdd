"""A name keeps the answer of a test for as long as the test asks about what its names still are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphlint.analysis import narrowing
from graphlint.analysis.values import Const
from graphlint.facts import nodes as ast


def kept(*tests: tuple[str, str]) -> Any:
    """A call whose names all have one value, after names were bound to tests in turn."""
    frame: Any = SimpleNamespace(tests={}, env=SimpleNamespace(fields={}))
    value = Const(True)
    frame.env.fields = dict.fromkeys(("wide", "deep", "new"), value)
    for name, test in tests:
        narrowing.keep_test(name, ast.parse(test, mode="eval").body, value, frame)
    return frame


def test_a_name_keeps_the_test_of_others() -> None:
    test = narrowing.kept_test("new", kept(("new", "wide and deep")))
    assert test is not None
    assert ast.unparse(test) == "wide and deep"


def test_a_test_of_the_name_itself_asked_about_what_it_was_before() -> None:
    assert narrowing.kept_test("wide", kept(("wide", "wide and deep"))) is None


def test_names_do_not_keep_tests_of_each_other() -> None:
    frame = kept(("wide", "new and deep"), ("new", "wide and deep"))
    assert narrowing.kept_test("wide", frame) is None
    assert narrowing.kept_test("new", frame) is not None
