"""Calls and work inside a capture, told as events."""

from __future__ import annotations

import pytest

from graphlint.sentinel.core import events
from graphlint.sentinel.core.captures import CallsInCapture, WorkInCapture
from graphlint.sentinel.core.machine import Machine, State
from graphlint.sentinel.findings import Finding, Place

_HERE = (Place("a.py", 7, "body"),)
_CAPTURED = (Place("a.py", 3, "capture"),)


def judged(*told: events.Event) -> list[Finding]:
    machine = Machine(State(lambda: ()), (CallsInCapture, WorkInCapture))
    return [finding for event in told for finding in machine.handle(event)]


def failed(
    call: int = 1, *, lost: bool, operation: str = "x", text: str = "", other: bool = False
) -> events.CallFailed:
    return events.CallFailed(1, call, operation, "`x()`", text, lost, _HERE, other=other)


def closed(graph: int = 0, left: tuple[int, ...] = (), stuck: bool = False) -> events.CaptureClosed:
    return events.CaptureClosed(1, graph, _CAPTURED, left, stuck)


def test_a_swallowed_failure_that_the_capture_survives_is_missing_from_the_graph() -> None:
    (found,) = judged(failed(lost=False), closed(graph=4))
    assert (found.code, found.graph) == ("CG508", 4)
    assert (found.captured, found.touched) == (_CAPTURED, _HERE)
    assert found.message.endswith("it is missing from the graph")


def test_a_swallowed_failure_that_loses_the_capture_keeps_the_code_of_the_call() -> None:
    (found,) = judged(failed(lost=True, operation="nonzero"), closed())
    assert found.code == "CG305" and found.message.endswith("the capture is lost; the error is swallowed")


def test_an_error_that_leaves_the_body_is_not_swallowed() -> None:
    (found,) = judged(failed(lost=True), closed(left=(1,)))
    assert found.message == "`x()` is not permitted while capturing, and the capture is lost"


def test_calls_that_fail_because_the_capture_is_lost_already_say_nothing_new() -> None:
    found = judged(failed(1, lost=True), failed(2, lost=False), closed(left=(2,)))
    assert len(found) == 1


def test_the_generator_is_mentioned_when_it_is_stuck() -> None:
    (found,) = judged(failed(lost=True), closed(stuck=True))
    assert found.message.endswith("The random number generator cannot be used any more")


def test_another_thread_is_to_blame() -> None:
    (found,) = judged(failed(lost=True, other=True), closed())
    assert found.code == "CG502" and "on another thread" in found.message


@pytest.mark.parametrize(
    ("operation", "text", "code"),
    [
        ("_local_scalar_dense", "operation not permitted when stream is capturing", "CG302"),
        ("synchronize", "operation not permitted when stream is capturing", "CG301"),
        ("index", "operation not permitted when stream is capturing", "CG305"),
        ("copy_", "graph capture unless the CPU tensor is pinned", "CG306"),
        ("rand", "Attempt to increase offset for a CUDA generator not in capture mode.", "CG503"),
        ("replay", "Cannot prepare for replay during capturing stage", "CG504"),
        ("mm", "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "CG701"),
    ],
)
def test_the_code_follows_the_call_and_its_error(operation: str, text: str, code: str) -> None:
    (found,) = judged(failed(lost=True, operation=operation, text=text), closed())
    assert found.code == code


def test_work_that_escapes_is_told_once_for_each_line() -> None:
    escaped = events.WorkEscaped(1, "`.add_()`", _HERE)
    (found,) = judged(escaped, escaped, closed(graph=2))
    assert (found.code, found.touched, found.graph) == ("CG501", _HERE, 2)


def test_a_capture_in_which_nothing_fails() -> None:
    assert judged(closed(graph=1)) == []
