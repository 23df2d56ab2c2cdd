"""Rows of kept outputs, told from numbers alone."""

from __future__ import annotations

import pytest

from graphlint.sentinel.core import events
from graphlint.sentinel.core.kept import KeptOutputs
from graphlint.sentinel.core.machine import Machine, State

GRAPH, MEMORY = 1, 7


def findings(counts: list[int]) -> int:
    """How often something is found when the holders of one output are these, replay for replay."""
    machine = Machine(State(tuple), (KeptOutputs,))
    made = (events.Output(MEMORY, 4096, 64),)
    machine.handle(events.CaptureEnded(GRAPH, 0, (), (), made, ()))
    found = 0
    for holders in counts:
        machine.handle(events.Replayed(GRAPH, 0, 0, 0))
        found += len(machine.handle(events.OutputHeld(GRAPH, MEMORY, holders)))
    return found


@pytest.mark.parametrize("counts", [[4, 5, 6, 7], [4, 4, 5, 6, 7], [4, 6, 8, 10], [4, 5, 6, 7, 8, 9]])
def test_a_row_is_found_once(counts: list[int]) -> None:
    assert findings(counts) == 1


@pytest.mark.parametrize(
    "counts", [[4, 4, 4, 4], [4, 5, 6, 6], [4, 5, 6, 5, 6, 7], [9, 8, 7, 6], [4, 5, 5, 6, 6, 7]]
)
def test_no_row(counts: list[int]) -> None:
    assert findings(counts) == 0
