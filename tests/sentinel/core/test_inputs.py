"""What events about inputs amount to, without any device."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graphlint.sentinel.core import events
from graphlint.sentinel.core.checks import CHECKS
from graphlint.sentinel.core.machine import Machine, State
from graphlint.sentinel.findings import Finding, Place

CAPTURE = (Place("runner.py", 10, "capture"),)
REPLAY = (Place("runner.py", 20, "run"),)
X = events.Name(1, "self.x", "attribute")
WEIGHT = events.Name(2, "net.weight", "parameter")


def seen(*happened: events.Event) -> list[Finding]:
    machine = Machine(State(lambda: REPLAY), CHECKS)
    return [finding for event in happened for finding in machine.handle(event)]


def captured(*inputs: events.Input) -> events.CaptureEnded:
    return events.CaptureEnded(1, 5, CAPTURE, inputs)


def given(*names: events.Name, pooled: bool = False, sure: bool = True) -> events.Input:
    return events.Input(7, 0x1000, 64, names, pooled=pooled, sure=sure)


REPLAYED = events.Replayed(1, 0, 0, 0)
FREED = events.MemoryFreed(7)


def moved(name: events.Name, now: events.Now, kept: bool = False) -> events.NameMoved:
    return events.NameMoved(1, 7, name, now, kept)


def codes(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.confidence) for finding in found]


def test_an_input_that_lives_is_fine() -> None:
    assert seen(captured(given(X)), REPLAYED, REPLAYED) == []


def test_an_input_that_is_freed_is_found_at_the_replay() -> None:
    assert seen(captured(given(X)), FREED) == []
    (found,) = seen(captured(given(X)), REPLAYED, FREED, REPLAYED)
    assert (found.code, found.graph, found.replay) == ("CG103", 1, 2)
    assert (found.captured, found.replayed) == (CAPTURE, REPLAY)
    assert found.message == "nothing holds `self.x` any more, and the graph reads its memory"


def test_torch_itself_compares_the_addresses_of_compiled_code() -> None:
    compiled = events.CaptureEnded(1, 5, CAPTURE, (given(X),), compiled=True)
    assert seen(compiled, REPLAYED, FREED, REPLAYED) == []


def test_an_address_that_may_be_a_leftover_is_likely_only() -> None:
    assert codes(seen(captured(given(sure=False)), FREED, REPLAYED)) == [("CG103", "likely")]


def test_memory_of_a_pool_is_filled_by_other_graphs_and_may_be_given_up() -> None:
    assert seen(captured(given(X, pooled=True)), FREED, REPLAYED) == []


@pytest.mark.parametrize("now", ["alike", "other", "swapped"])
def test_an_input_freed_because_its_name_moved_on_is_a_rebinding(now: events.Now) -> None:
    assert codes(seen(captured(given(X)), FREED, moved(X, now), REPLAYED)) == [("CG101", "definite")]


def test_a_parameter_that_moved_on_is_a_replaced_weight() -> None:
    assert codes(seen(captured(given(WEIGHT)), FREED, moved(WEIGHT, "alike"), REPLAYED)) == [
        ("CG102", "definite")
    ]


def test_new_memory_under_the_same_tensor_is_certain_whoever_keeps_the_old() -> None:
    found = seen(captured(given(WEIGHT)), moved(WEIGHT, "swapped", kept=True), REPLAYED)
    assert codes(found) == [("CG102", "definite")]


def test_a_name_that_moved_on_says_little_where_another_still_leads_to_the_input() -> None:
    assert seen(captured(given(X)), moved(X, "alike", kept=True), REPLAYED) == []
    assert codes(seen(captured(given(X)), moved(X, "alike"), REPLAYED)) == [("CG101", "likely")]


@pytest.mark.parametrize("now", ["nothing", "other"])
def test_a_name_that_leads_to_nothing_alike_says_nothing(now: events.Now) -> None:
    assert seen(captured(given(X)), moved(X, now), REPLAYED) == []


def test_a_graph_that_is_gone_is_not_asked_about() -> None:
    assert seen(captured(given(X)), FREED, events.GraphGone(1)) == []
