"""Whether what is read of a graph that is gone is meant to be the result of the graph in its place.

An output keeps its memory, and the last result in it, for as long as something holds it: that a graph is
reset or collected while its outputs live is no hazard. It is one for who goes on reading there what other
replays fill elsewhere now.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Finding

_OFTEN = 2  # results that one line has read: it means the last one, and no particular one


class AbandonedOutputs(Check):
    """In mode "test": results that are looked for where a graph that is gone has left its last one."""

    name = "abandoned-outputs"
    subscribes = (events.Read, events.Written)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._shown: dict[tuple[int, int], set[int]] = {}  # by line and memory: the replays that it has read
        self._written: set[int] = set()  # abandoned, and filled by eager code since then

    def on(self, event: events.Event) -> Iterator[Finding]:
        if isinstance(event, events.Read):
            yield from self._read(event)
        elif isinstance(event, events.Written) and event.memory in self.state.abandoned:
            self._written.add(event.memory)

    def _read(self, event: events.Read) -> Iterator[Finding]:
        producer = self.state.producers.get(event.memory)
        if producer is None:
            return
        shown = self._shown.setdefault((event.site, event.memory), set())
        if event.memory not in self.state.abandoned:
            if producer.replays and len(shown) < _OFTEN:
                shown.add(producer.replays)
        elif len(shown) == _OFTEN and not self._is_filled(event.memory):
            heir = self._heir(producer)
            if heir is not None:
                yield self._finding(producer, heir)

    def _is_filled(self, memory: int) -> bool:
        """Whether somebody else writes it now."""
        return memory in self._written or any(
            memory in graph.inputs and (graph.inputs[memory].written or not graph.knows_writes)
            for graph in self.state.graphs.values()
        )

    def _heir(self, producer: Graph) -> Graph | None:
        """The graph in the place of one that is gone: captured by the same line, replayed by the same line,
        with outputs of the same sizes."""
        for graph in self.state.graphs.values():
            if (
                graph.number > producer.number
                and graph.stack[:1] == producer.stack[:1]
                and graph.last is not None
                and producer.last is not None
                and graph.last.site == producer.last.site
                and _sizes(graph) == _sizes(producer)
            ):
                return graph
        return None

    def _finding(self, producer: Graph, heir: Graph) -> Finding:
        message = (
            f"this output shows the last result of graph {producer.number}, which is gone: "
            f"graph {heir.number}, which was captured in its place, fills another tensor"
        )
        return self.finding("CG201", message, producer, captured=heir.stack, confidence="likely")


def _sizes(graph: Graph) -> list[int]:
    return sorted(made.size for made in graph.outputs.values())
