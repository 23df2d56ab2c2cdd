"""Outputs that other graphs of their pool write over, told from numbers alone."""

from __future__ import annotations

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Machine, State
from graphlint.sentinel.core.outputs import PoolOverwrites

POOL, MEMORY, ADDRESS, SIZE = 3, 7, 4096, 64


def found(*, compiled: bool) -> list[str]:
    """What is said of a read of a first graph's output, after a second graph of the pool has written there."""
    machine = Machine(State(tuple), (PoolOverwrites,))
    made, over = (events.Output(MEMORY, ADDRESS, SIZE),), ((ADDRESS, ADDRESS + SIZE),)
    machine.handle(events.CaptureEnded(1, POOL, (), (), made, over, compiled=compiled))
    machine.handle(events.CaptureEnded(2, POOL, (), (), (), over, compiled=compiled))
    machine.handle(events.Replayed(1, 0, 0, 0))
    machine.handle(events.Replayed(2, 0, 0, 1))
    return [finding.code for finding in machine.handle(events.Read(MEMORY, 1, 0, 2))]


def test_the_program_reads_what_its_own_second_graph_has_overwritten() -> None:
    assert found(compiled=False) == ["CG604"]


def test_torch_looks_after_the_memory_of_compiled_code() -> None:
    assert found(compiled=True) == []
