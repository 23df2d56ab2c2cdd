"""A wrapped runner is the runner; who judges is told what was declared of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from graphlint.sentinel import wrap, wrapping
from graphlint.sentinel.wrapping import Call


class Runner:
    """Runs."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.tokens = [0]

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        self.calls.append((*args, kwargs))
        return (*args, kwargs)


class Listening:
    """A judge that remembers."""

    def __init__(self) -> None:
        self.seen: list[Call] = []
        self.results: list[Any] = []

    def before(self, call: Call) -> None:
        self.seen.append(call)

    def failed(self, call: Call) -> None:
        self.results.append("failed")

    def after(self, call: Call, result: Any) -> None:
        self.results.append(result)


@pytest.fixture
def judge() -> Iterator[Listening]:
    """Somebody who judges calls while the test runs."""
    listening = Listening()
    wrapping.judges.append(listening)
    yield listening
    wrapping.judges.remove(listening)


def test_a_wrapped_runner_behaves_like_the_runner() -> None:
    runner = Runner()
    wrapped = wrap(runner, inputs={"x": 1}, padding=3, eager=print)
    assert wrapped(1, b=2) == (1, {"b": 2})
    assert wrapped.calls == [(1, {"b": 2})]
    assert wrapped.__doc__ == "Runs."
    with pytest.raises(AttributeError, match="nothing"):
        _ = wrapped.nothing


def test_a_wrapped_function_keeps_its_name() -> None:
    def decode(step: int) -> int:
        """Decode."""
        return step + 1

    wrapped = wrap(decode)
    assert (wrapped(1), wrapped.__name__, wrapped.__doc__, wrapped.__wrapped__) == (
        2,
        "decode",
        "Decode.",
        decode,
    )


def test_a_wrapped_runner_can_be_copied() -> None:
    assert copy.copy(wrap(Runner()))(1) == (1, {})


def test_nothing_is_asked_while_nobody_judges() -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("asked")

    assert wrap(Runner(), inputs=fail, padding=fail)(1) == (1, {})


def test_who_judges_is_told_what_was_declared(judge: Listening) -> None:
    runner = Runner()
    eager = Runner()
    wrapped = wrap(runner, inputs=lambda: {"tokens": runner.tokens}, padding=lambda n: n + 1, eager=eager)
    runner.tokens = [5]
    wrapped(3)
    wrapped(4)
    first, second = judge.seen
    assert (first.name, first.args, first.kwargs, first.ordinal) == ("Runner", (3,), {}, 1)
    assert (first.inputs, first.real_rows, first.eager) == ({"tokens": [5]}, 4, eager)
    assert (second.ordinal, second.real_rows) == (2, 5)
    assert judge.results == [(3, {}), (4, {})]


def test_who_judges_may_run_it_again_and_eagerly(judge: Listening) -> None:
    runner, eager = Runner(), Runner()
    wrap(runner, eager=eager)(1)
    (call,) = judge.seen
    assert call.again() == call.eagerly() == (1, {})
    assert (len(runner.calls), len(eager.calls), len(judge.seen)) == (2, 1, 1)


def test_who_judges_is_told_of_a_call_that_fails(judge: Listening) -> None:
    def fail() -> None:
        raise KeyError("the program's own")

    with pytest.raises(KeyError):
        wrap(fail)()
    assert judge.results == ["failed"]


def test_a_constant_number_of_real_rows_and_no_declaration_at_all(judge: Listening) -> None:
    wrap(Runner(), padding=5)()
    wrap(Runner())()
    assert [(call.real_rows, call.inputs, call.eager) for call in judge.seen] == [
        (5, {}, None),
        (None, {}, None),
    ]


def test_inputs_without_names_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="`inputs` are tensors by name"):
        wrap(len, inputs=[1, 2])  # type: ignore[arg-type]
