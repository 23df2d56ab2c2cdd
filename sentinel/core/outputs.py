"""Whether what is read of a graph's memory is what the program means: the last result, and not
overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Finding


class StaleOutputs(Check):
    """In mode "test": reads through a tensor that was taken before the last replay of its graph."""

    name = "stale-outputs"
    subscribes = (events.Taken, events.Read, events.ReadAsOld, events.ReadInstead)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._taken: dict[int, tuple[int, int]] = {}  # of each alias, the replay that it shows, and the place
        self._named: set[tuple[int, int]] = set()  # memory that was read by an old name, and where

    def on(self, event: events.Event) -> Iterator[Finding]:
        if isinstance(event, events.Taken):
            self._take(event)
            return
        if isinstance(event, events.ReadInstead):
            yield from self._instead(event)
            return
        assert isinstance(event, (events.Read, events.ReadAsOld))
        graph = self.state.producers.get(event.memory)
        if graph is None:
            return
        if isinstance(event, events.ReadAsOld):
            yield from self._by_name(graph, event)
        else:
            yield from self._read(graph, event)

    def _take(self, event: events.Taken) -> None:
        graph = self.state.producers.get(event.memory)
        inherited = self._taken.get(event.parent) if event.parent is not None else None
        if inherited is not None:
            self._taken[event.alias] = inherited
        elif graph is not None:
            self._taken[event.alias] = (graph.replays, event.site)

    def _read(self, graph: Graph, event: events.Read) -> Iterator[Finding]:
        replay, site = self._taken.get(event.alias, (graph.replays, -1))
        if replay < graph.replays and replay > 0:
            message = f"the result of replay {replay} is read after replay {graph.replays} has overwritten it"
            yield self.finding("CG201", message, graph, touched=self.state.line(site))
        elif event.repeated > 1 and graph.replays > 1 and (event.memory, event.site) not in self._named:
            times = event.repeated
            message = f"one output is read {times} times as if each were the result of another replay"
            yield self.finding("CG201", message, graph, confidence="likely")

    def _instead(self, event: events.ReadInstead) -> Iterator[Finding]:
        graph = self.state.graphs.get(event.graph)
        if graph is not None:
            now = f"`{event.name}` is bound to another tensor"
            message = f"{now}, but replays fill the one that it named at capture"
            yield self.finding("CG101", message, graph, confidence="likely")

    def _by_name(self, graph: Graph, event: events.ReadAsOld) -> Iterator[Finding]:
        if event.generation < graph.replays:
            self._named.add((event.memory, event.site))
            message = (
                f"`{event.name}` is the result of replay {event.generation}, and is read after replay "
                f"{graph.replays} has overwritten it"
            )
            yield self.finding(
                "CG201", message, graph, touched=self.state.line(event.site), confidence="likely"
            )


class PoolOverwrites(Check):
    """Outputs that another graph of the pool has overwritten: read by eager code, or by a graph that takes
    them as its input. Between graphs of compiled code torch itself sees to it that nothing is."""

    name = "pool-overwrites"
    subscribes = (events.CaptureEnded, events.Replayed, events.Read)
    awake = False  # until a graph writes over outputs of another

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._by: dict[int, tuple[Graph, int]] = {}  # who wrote over an output's memory, and from where

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.Replayed):
            return self._replay(self.state.graphs[event.graph], event.site)
        if isinstance(event, events.CaptureEnded):
            self._compare(self.state.graphs[event.graph])
        return self._read(event) if self._by and isinstance(event, events.Read) else ()

    def _read(self, event: events.Read) -> Iterator[Finding]:
        graph = self.state.producers.get(event.memory)
        if graph is not None and event.memory in self._by:
            yield self._finding(graph, event.memory, "read")

    def _compare(self, graph: Graph) -> None:
        """Note whose outputs a graph writes over, and who writes over its own."""
        if graph.compiled:
            return
        for other in self.state.graphs.values():
            if other is not graph and other.pool == graph.pool:
                for writer, owner in ((graph, other), (other, graph)):
                    writer.overwrites.update(
                        made.memory
                        for made in owner.outputs.values()
                        if made.memory not in writer.inputs and _covers(writer, made)
                    )
                    self.awake = self.awake or bool(writer.overwrites)

    def _replay(self, graph: Graph, site: int) -> Iterator[Finding]:
        for memory in self._by.keys() & graph.inputs.keys():
            producer = self.state.producers.get(memory)
            if producer is not None and producer is not graph:
                yield self._finding(producer, memory, "read by a replay")
        if self._by:
            for memory in graph.outputs:
                self._by.pop(memory, None)
        for memory in graph.overwrites:
            owner = self.state.producers.get(memory)
            if owner is not None and owner.replays:
                self._by[memory] = (graph, site)

    def _finding(self, producer: Graph, memory: int, how: str) -> Finding:
        writer, site = self._by[memory]
        message = f"an output is {how} after a replay of graph {writer.number} has overwritten its memory"
        return self.finding("CG604", message, producer, touched=self.state.line(site))


def _covers(graph: Graph, made: events.Output) -> bool:
    end = made.address + made.size
    return any(start < end and made.address < stop for start, stop in graph.ranges)
