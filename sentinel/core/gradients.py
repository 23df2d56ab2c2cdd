"""Whether gradients that a graph adds to are cleared once an optimizer has used them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Finding


class AccumulatingGradients(Check):
    """In mode "test": a weight was written since the last replay, its gradient was not, and the graph adds to
    it.

    Replays that add up before the weight is written are how gradients of several batches are meant to add up.
    """

    name = "accumulating-gradients"
    subscribes = (events.CaptureEnded, events.Written, events.Replayed)
    awake = False  # until some graph adds to gradients that it did not make

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._now = 0
        self._written: dict[int, tuple[int, int]] = {}  # memory that was written, when and where
        self._replayed: dict[int, int] = {}  # of each graph, when

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.CaptureEnded):
            self.awake = self.awake or any(given.adds for given in event.inputs)
        if not self.awake:
            return ()
        self._now += 1
        if isinstance(event, events.Written):
            self._written[event.memory] = (self._now, event.site)
        return self._replay(event) if isinstance(event, events.Replayed) else ()

    def _replay(self, event: events.Replayed) -> list[Finding]:
        graph, found = self.state.graphs[event.graph], []
        if graph.replays > 1 and graph.knows_writes:
            found = list(self._judge(graph, self._replayed.get(graph.number, self._now)))
        self._replayed[graph.number] = self._now
        self._written.update((memory, (self._now, event.site)) for memory in graph.written)
        return found

    def _judge(self, graph: Graph, since: int) -> Iterator[Finding]:
        fresh = {memory for memory in graph.inputs if self._written.get(memory, (0, 0))[0] > since}
        weights = {name.text: memory for memory in fresh for name in graph.inputs[memory].names}
        for memory, given in graph.inputs.items() if weights else ():
            if not given.adds or memory in fresh:
                continue
            for name in given.names:
                weight = weights.get(name.text.removesuffix(".grad")) if name.kind == "gradient" else None
                if weight is not None:
                    yield self._finding(graph, name.text, self._written[weight][1])
                    break

    def _finding(self, graph: Graph, gradient: str, site: int) -> Finding:
        message = (
            f"the graph adds to `{gradient}`, which nothing has cleared since the weight was changed: "
            "gradients of earlier steps are part of it"
        )
        return self.finding("CG803", message, graph, touched=self.state.line(site), confidence="likely")
