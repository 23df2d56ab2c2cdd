"""Whether results are collected that all lie in the same memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Finding, Stack

_ENOUGH = 3  # one is what a caller's variable still holds, two are what a pair of buffers does


@dataclass(slots=True)
class _Row:
    """Results that were kept one after the other."""

    holders: int
    kept: int = 0
    told: bool = False


class KeptOutputs(Check):
    """At each replay: an output that has been kept once more after each of the last replays."""

    name = "kept-outputs"
    subscribes = (events.OutputHeld,)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._rows: dict[int, _Row] = {}

    def on(self, event: events.Event) -> Iterator[Finding]:
        assert isinstance(event, events.OutputHeld)
        row = self._rows.setdefault(event.memory, _Row(event.holders))
        row.kept = row.kept + 1 if event.holders > row.holders else 0
        row.holders = event.holders
        graph = self.state.graphs.get(event.graph)
        if event.together > 1 and graph is not None and not row.told:
            row.told = True
            message = (
                f"one output is kept {event.together} times, as if each were the result of another replay"
            )
            yield replace(
                self.finding("CG201", message, graph, level="warning", confidence="likely"),
                replayed=self._last_replay(graph),
            )
        elif row.kept == _ENOUGH and graph is not None and not row.told:
            message = (
                f"an output was kept after each of {_ENOUGH} replays: all that is kept shows the last result"
            )
            found = self.finding("CG201", message, graph, level="warning", confidence="likely")
            yield replace(found, replayed=self._last_replay(graph))

    def _last_replay(self, graph: Graph) -> Stack:
        """The place to show: the last count comes when the program is over."""
        return self.state.line(graph.last.site) if graph.last is not None else ()
