"""Whether the host waits before it reads what the device sends it, or writes what the device has yet to
read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, Run, State
from graphlint.sentinel.findings import Finding, Stack

_READ = "host memory is read before the host has waited for what fills it"
_WRITTEN = "pinned memory is written before the host has waited for what reads it"


class HostTransfers(Check):
    """In mode "test": host memory that a replay or a copy fills is read too early, or that one reads is
    written too early."""

    name = "host-transfers"
    subscribes = (
        events.CaptureEnded,
        events.Replayed,
        events.SentToHost,
        events.SentFromHost,
        events.HostRead,
        events.HostWritten,
        events.WrittenInCapture,
    )

    awake = False  # until a graph copies from or to the host

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._landing: dict[int, tuple[Graph, Run]] = {}
        self._leaving: dict[int, tuple[Graph, Run]] = {}

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.Replayed):
            self._replay(self.state.graphs[event.graph], event)
            return ()
        if isinstance(event, events.CaptureEnded):
            self.awake = self.awake or any(given.host for given in event.inputs)
            return ()
        return self._transfer(event)

    def _transfer(self, event: events.Event) -> Iterator[Finding]:
        if isinstance(event, events.SentToHost):
            graph = self.state.producers.get(event.source)
            if graph is not None:
                self._landing[event.host] = (graph, self._run(event.stream, event.site))
        elif isinstance(event, events.SentFromHost):
            readers = [graph for graph in self.state.graphs.values() if event.target in graph.inputs]
            if readers:
                self._leaving[event.host] = (readers[-1], self._run(event.stream, event.site))
        elif isinstance(event, events.WrittenInCapture):
            yield self._in_capture(event)
        elif isinstance(event, events.HostRead):
            yield from self._judge(self._landing, event.host, "CG204", _READ)
        elif isinstance(event, events.HostWritten):
            yield from self._judge(self._leaving, event.host, "CG107", _WRITTEN)

    def _in_capture(self, event: events.WrittenInCapture) -> Finding:
        message = (
            "pinned memory is written while capturing, after a copy that reads it was recorded: each replay "
            "copies what is written last"
        )
        graph, touched = self.state.graphs[event.graph], self.state.line(event.site)
        return self.finding("CG107", message, graph, touched=touched)

    def _replay(self, graph: Graph, event: events.Replayed) -> None:
        for given in graph.hosts:
            run = Run(event.stream, self.state.clocks.next_position(event.stream), event.site)
            pending = self._landing if given.written else self._leaving
            pending[given.memory] = (graph, run)

    def _run(self, stream: int, site: int) -> Run:
        return Run(stream, self.state.clocks.issue(stream), site)

    def _judge(
        self, pending: dict[int, tuple[Graph, Run]], host: int, code: str, message: str
    ) -> Iterator[Finding]:
        waiting = pending.get(host)
        if waiting is None:
            return
        graph, run = waiting
        if self.state.clocks.before_host(run.stream, run.position):
            del pending[host]
            return
        touched: Stack = self.state.line(run.site)
        yield self.finding(code, message, graph, touched=touched)
