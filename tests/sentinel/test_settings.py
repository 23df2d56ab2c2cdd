"""What words ask for, and which of several sources has the say."""

from __future__ import annotations

import pytest

from graphlint.sentinel.settings import Request, SettingsError, merged, request_in, request_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        (" , ", None),
        ("on", Request()),
        ("watch", Request("watch")),
        ("Test, virtual", Request("test", virtual=True)),
        ("virtual", Request(virtual=True)),
        ("canary,warn", Request("canary", warn=True)),
        ("off", Request("off")),
    ],
)
def test_words_are_a_request(text: str, expected: Request | None) -> None:
    assert request_of(text, "here") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wach", "here: unknown word `wach`; did you mean `watch`?"),
        ("x", "here: unknown word `x`; known words: watch, canary, test, on, off, virtual, warn"),
        ("watch,test", "here: `watch` and `test` exclude each other"),
        ("off,test", "here: `off` and `test` exclude each other"),
    ],
)
def test_other_words_are_an_error_that_says_where(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        request_of(text, "here")
    assert str(error.value) == message


def test_the_environment_variable_names_itself() -> None:
    assert request_in({}) is None
    assert request_in({"GRAPHLINT_SENTINEL": "test"}) == Request("test")
    with pytest.raises(SettingsError, match="GRAPHLINT_SENTINEL: unknown word `1`"):
        request_in({"GRAPHLINT_SENTINEL": "1"})


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([None, None], None),
        ([None, Request("test")], Request("test", False, False)),
        ([Request(), Request("test", warn=True)], Request("test", False, True)),
        ([Request("watch", warn=False), Request("test", True, True)], Request("watch", True, False)),
        ([Request("off"), Request("test")], None),
        ([Request("test"), Request("off")], Request("test", False, False)),
        ([Request(), Request("off"), Request("canary")], Request("canary", False, False)),
        ([Request()], Request("watch", False, False)),
    ],
)
def test_the_first_source_that_speaks_of_a_part_decides_it(
    sources: list[Request | None], expected: Request | None
) -> None:
    assert merged(sources) == expected
