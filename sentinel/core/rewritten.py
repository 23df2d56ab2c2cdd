"""Whether an input that the program writes time after time was left as it is before one replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Finding

_ENOUGH = 3  # replays in a row before which an input was written: twice may be how a program sets itself up


@dataclass(slots=True)
class _Cycles:
    """One graph: what was written since its last replay, and before how many replays in a row."""

    written: set[int] = field(default_factory=set)
    rows: dict[int, int] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)


class RewrittenInputs(Check):
    """In modes "canary" and "test": inputs that were written before each of the last replays and not before
    this one, although others were. Nobody has to declare them."""

    name = "rewritten-inputs"
    subscribes = (events.InputsWritten, events.Written, events.Replayed, events.GraphGone)
    awake = False  # until something is written

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._cycles: dict[int, _Cycles] = {}
        self._sites: dict[int, int] = {}  # where memory was written last

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.Replayed):
            cycles = self._cycles.get(event.graph)
            return self._judge(self.state.graphs[event.graph], cycles) if cycles is not None else ()
        if isinstance(event, events.InputsWritten):
            self._of(event.graph).written.update(event.memories)
        elif isinstance(event, events.Written):
            self._sites[event.memory] = event.site
            for number, graph in self.state.graphs.items():
                if event.memory in graph.inputs:
                    self._of(number).written.add(event.memory)
        elif isinstance(event, events.GraphGone):
            self._cycles.pop(event.graph, None)
        return ()

    def _of(self, graph: int) -> _Cycles:
        self.awake = True
        return self._cycles.setdefault(graph, _Cycles())

    def _judge(self, graph: Graph, cycles: _Cycles) -> Iterator[Finding]:
        rows, written = cycles.rows, cycles.written
        often = [memory for memory, times in rows.items() if times >= _ENOUGH]
        left = [memory for memory in often if memory not in written and memory not in cycles.told]
        if left and not graph.by_library:  # torch leaves an input alone that is given to itself
            steady = [
                memory for memory in often if memory in written and self._is_the_programs(graph, memory)
            ]
            for memory in left if steady else ():
                cycles.told.add(memory)
                if self._is_the_programs(graph, memory):
                    yield self._finding(graph, memory, rows[memory], min(steady))
        cycles.rows = {memory: rows.get(memory, 0) + 1 for memory in written}
        cycles.written = set()

    def _is_the_programs(self, graph: Graph, memory: int) -> bool:
        """Whether only eager code fills an input, which is no weight: those are left alone on purpose."""
        given = graph.inputs.get(memory)
        if given is None or given.host or given.pooled or memory in self.state.freed:
            return False
        if any(name.kind in ("parameter", "gradient") for name in given.names):
            return False
        readers = [other for other in self.state.graphs.values() if memory in other.inputs]
        return not any(
            other.inputs[memory].written or (other is not graph and not other.knows_writes)
            for other in readers
        )

    def _finding(self, graph: Graph, memory: int, times: int, other: int) -> Finding:
        shown = graph.inputs[memory].shown
        message = (
            f"{shown} was written before each of the last {times} replays and not before this one, although "
            f"{graph.inputs[other].shown} was"
        )
        touched = self.state.line(self._sites.get(memory, -1))
        return self.finding("CG109", message, graph, touched=touched, level="warning", confidence="likely")
