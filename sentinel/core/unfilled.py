"""Whether memory that a graph fills is read before the graph was ever replayed: captures fill nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Finding


class UnfilledMemory(Check):
    """In mode "test": memory that a graph has allocated is read, by eager code or another graph, unfilled."""

    name = "unfilled-memory"
    subscribes = (events.Written, events.Read, events.Replayed)
    awake = False  # until eager code is looked at: only then it is known what else fills memory

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._filled: set[int] = set()  # by eager code
        self._told: set[int] = set()

    def on(self, event: events.Event) -> Iterable[Finding]:
        self.awake = True
        if isinstance(event, events.Written):
            self._filled.add(event.memory)
            return ()
        if isinstance(event, events.Read):
            return self._judge(event.memory, "eager code")
        assert isinstance(event, events.Replayed)
        return self._replay(self.state.graphs[event.graph])

    def _replay(self, graph: Graph) -> Iterator[Finding]:
        for memory, given in graph.inputs.items():
            if given.pooled and self.state.producers.get(memory) is not graph:
                yield from self._judge(memory, f"graph {graph.number}")

    def _judge(self, memory: int, reader: str) -> Iterator[Finding]:
        producer = self.state.producers.get(memory)
        if producer is None or producer.replays or producer.by_library or memory in self._told:
            return
        if memory not in self._filled and not self._is_filled_by_a_graph(memory):
            self._told.add(memory)
            message = (
                f"{reader} reads memory that graph {producer.number} has allocated and fills when it is "
                "replayed, which it never was: its capture has filled nothing"
            )
            yield self.finding("CG603", message, producer)

    def _is_filled_by_a_graph(self, memory: int) -> bool:
        return any(
            graph.replays
            and memory in graph.inputs
            and (graph.inputs[memory].written or not graph.knows_writes)
            for graph in self.state.graphs.values()
        )
