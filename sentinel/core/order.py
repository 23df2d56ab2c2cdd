"""Whether what must come one after the other does: replays, writes of inputs, reads of outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, Run, State
from graphlint.sentinel.findings import Confidence, Finding


class ConcurrentReplays(Check):
    """At each replay: graphs that share memory and may still be running on another stream."""

    name = "concurrent-replays"
    subscribes = (events.Replayed,)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._streams: set[int] = set()

    def on(self, event: events.Event) -> Iterable[Finding]:
        assert isinstance(event, events.Replayed)
        self._streams.add(event.stream)
        return self._judge(event) if len(self._streams) > 1 else ()

    def _judge(self, event: events.Replayed) -> Iterator[Finding]:
        graph = self.state.graphs[event.graph]
        for other in self.state.graphs.values():
            last = other.last
            if last is None or last.stream == event.stream or not _share(graph, other):
                continue
            if self.state.clocks.before(event.stream, last.stream, last.position):
                continue
            if self.state.busy(last.stream):
                yield self._finding(graph, other, last)

    def _finding(self, graph: Graph, other: Graph, last: Run) -> Finding:
        message = "this replay does not wait for the last one of the same graph on another stream"
        if other is not graph:
            message = (
                f"this replay does not wait for that of graph {other.number} on another stream, and both use "
                "the same memory"
            )
        sure: Confidence = "definite" if other is graph or _overlap(graph, other) else "likely"
        return self.finding(
            "CG608", message, graph, touched=self.state.line(last.site), level="error", confidence=sure
        )


def _share(graph: Graph, other: Graph) -> bool:
    return other is graph or (graph.pool == other.pool and _overlap(graph, other))


def _overlap(graph: Graph, other: Graph) -> bool:
    return any(start < end_ and start_ < end for start, end in graph.ranges for start_, end_ in other.ranges)


class UnorderedInputs(Check):
    """In mode "test": writes into inputs that no edge orders before the next replay, or after the last
    one."""

    name = "unordered-inputs"
    subscribes = (events.Written, events.Replayed)
    awake = False  # until something is written

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._writes: dict[int, dict[int, Run]] = {}  # by memory and stream

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.Written):
            self.awake = True
            return self._write(event)
        assert isinstance(event, events.Replayed)
        return self._replay(event)

    def _replay(self, event: events.Replayed) -> Iterator[Finding]:
        graph = self.state.graphs[event.graph]
        for memory in self._writes.keys() & graph.inputs.keys():
            yield from self._judge(graph, graph.inputs[memory], self._writes.pop(memory), event.stream)

    def _write(self, event: events.Written) -> Iterator[Finding]:
        for graph in self.state.graphs.values():
            last = graph.last
            if event.memory not in graph.inputs or last is None or last.stream == event.stream:
                continue
            if not self.state.clocks.before(event.stream, last.stream, last.position):
                shown = graph.inputs[event.memory].shown
                message = f"{shown} is written while the replay that reads it may still run on another stream"
                yield self.finding("CG105", message, graph, touched=self.state.line(last.site))
        position = self.state.clocks.issue(event.stream)
        self._writes.setdefault(event.memory, {})[event.stream] = Run(event.stream, position, event.site)

    def _judge(
        self, graph: Graph, given: events.Input, writes: dict[int, Run], stream: int
    ) -> Iterator[Finding]:
        for write in writes.values():
            if write.stream != stream and not self.state.clocks.before(stream, write.stream, write.position):
                message = f"{given.shown} is written on another stream, and the replay does not wait for it"
                yield self.finding("CG105", message, graph, touched=self.state.line(write.site))


class UnorderedOutputs(Check):
    """In mode "test": outputs read on a stream that does not wait for the replay, or not waited for by the
    next one."""

    name = "unordered-outputs"
    subscribes = (events.Read, events.Replayed)
    awake = False  # until something is read

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._reads: dict[int, dict[int, Run]] = {}  # by memory and stream

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.Read):
            self.awake = True
            return self._read(event)
        assert isinstance(event, events.Replayed)
        return self._replay(event)

    def _replay(self, event: events.Replayed) -> Iterator[Finding]:
        graph = self.state.graphs[event.graph]
        for memory in graph.written:
            yield from self._overwritten(graph, self._reads.pop(memory, {}), event.stream)

    def _read(self, event: events.Read) -> Iterator[Finding]:
        graph = self.state.producers.get(event.memory)
        if graph is None or graph.last is None:
            return
        last = graph.last
        if last.stream != event.stream and not self.state.clocks.before(
            event.stream, last.stream, last.position
        ):
            message = "an output is read on another stream, which does not wait for the replay"
            yield self.finding("CG202", message, graph, touched=self.state.line(last.site))
        position = self.state.clocks.issue(event.stream)
        self._reads.setdefault(event.memory, {})[event.stream] = Run(event.stream, position, event.site)

    def _overwritten(self, graph: Graph, reads: dict[int, Run], stream: int) -> Iterator[Finding]:
        for read in reads.values():
            if read.stream != stream and not self.state.clocks.before(stream, read.stream, read.position):
                message = "this replay overwrites an output that another stream may not have read yet"
                yield self.finding("CG203", message, graph, touched=self.state.line(read.site))
