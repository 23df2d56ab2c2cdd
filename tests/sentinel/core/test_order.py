"""Replays and reads on two streams, told from numbers alone."""

from __future__ import annotations

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Machine, State
from graphlint.sentinel.core.order import UnorderedOutputs

MAIN, SIDE = 0, 1
MEMORY = 7


def found(*after_capture: events.Event) -> list[str]:
    """What is said of the replays and reads of a graph with one output."""
    machine = Machine(State(tuple), (UnorderedOutputs,))
    machine.handle(events.CaptureEnded(1, 3, (), (), (events.Output(MEMORY, 4096, 64),), ((4096, 4160),)))
    return [finding.code for event in after_capture for finding in machine.handle(event)]


def replayed() -> events.Event:
    return events.Replayed(1, MAIN, 0, 0)


def read() -> events.Event:
    return events.Read(MEMORY, 1, SIDE, 0)


def test_a_stream_reads_without_waiting_and_nobody_waits_for_it() -> None:
    assert found(replayed(), read(), replayed()) == ["CG202", "CG203"]


def test_streams_of_a_backward_pass_wait_for_each_other() -> None:
    began, ended = events.BackwardBegan(MAIN), events.BackwardEnded(MAIN)
    assert found(began, replayed(), read(), ended, replayed()) == []


def test_a_backward_pass_orders_only_the_streams_that_take_part() -> None:
    began, ended = events.BackwardBegan(MAIN), events.BackwardEnded(MAIN)
    assert found(replayed(), began, ended, read()) == ["CG202"]


def test_work_after_a_backward_pass_needs_its_own_edges() -> None:
    began, ended = events.BackwardBegan(MAIN), events.BackwardEnded(MAIN)
    assert found(began, replayed(), read(), ended, replayed(), read()) == ["CG202"]
