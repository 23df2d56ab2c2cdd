"""Events in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from graphlint.sentinel.core import events
from graphlint.sentinel.core.clocks import Clocks
from graphlint.sentinel.core.passes import BackwardPasses
from graphlint.sentinel.findings import Confidence, Finding, Level, Stack


@dataclass(slots=True)
class Run:
    """One replay: where in which stream's order, and from where it was launched."""

    stream: int
    position: int
    site: int


@dataclass(slots=True)
class Graph:
    """What is known of one captured graph."""

    number: int
    pool: int
    stack: Stack
    inputs: dict[int, events.Input]
    outputs: dict[int, events.Output]
    ranges: tuple[tuple[int, int], ...]
    knows_writes: bool = True
    by_library: bool = False
    compiled: bool = False
    hosts: tuple[events.Input, ...] = ()  # the inputs that lie on the host
    overwrites: set[int] = field(default_factory=set)  # memory of other graphs' outputs
    freed: set[int] = field(default_factory=set)  # of its inputs' memory, what is gone
    replays: int = 0
    last: Run | None = None

    @property
    def written(self) -> list[int]:
        """The memory that the program can see it write."""
        return [*self.outputs, *(memory for memory, given in self.inputs.items() if given.written)]


@dataclass(slots=True)
class State:
    """What all checks share: the graphs, the order of work, and where the program is.

    `here` gives the stack of the event that is being handled, `line` that of the number of a place; they are
    asked only when something was found. `busy` tells whether a stream may have work that is not done.
    """

    here: Callable[[], Stack]
    line: Callable[[int], Stack] = lambda _: ()
    busy: Callable[[int], bool] = lambda _: True
    clocks: Clocks = field(default_factory=Clocks)
    graphs: dict[int, Graph] = field(default_factory=dict)
    producers: dict[int, Graph] = field(default_factory=dict)  # of the memory of outputs
    abandoned: dict[int, Graph] = field(default_factory=dict)  # outputs, by their graph which is gone
    freed: dict[int, int] = field(default_factory=dict)  # memory that is gone, and where it went

    def add(self, event: events.CaptureEnded) -> None:
        """There is a new graph."""
        graph = Graph(
            event.graph,
            event.pool,
            event.stack,
            {given.memory: given for given in event.inputs},
            {made.memory: made for made in event.outputs},
            event.ranges,
            event.knows_writes,
            event.by_library,
            event.compiled,
            tuple(given for given in event.inputs if given.host),
        )
        graph.freed.update(self.freed.keys() & graph.inputs.keys())
        self.graphs[event.graph] = graph
        self.producers.update((memory, graph) for memory in graph.outputs)

    def free(self, event: events.MemoryFreed) -> None:
        """Memory is gone."""
        self.freed[event.memory] = event.site
        for graph in self.graphs.values():
            if event.memory in graph.inputs:
                graph.freed.add(event.memory)
        if event.memory in self.abandoned:
            self.producers.pop(event.memory, None)

    def drop(self, number: int) -> None:
        """A graph is gone. Its outputs stay what they are for as long as something holds them."""
        graph = self.graphs.pop(number, None)
        if graph is None:
            return
        for memory in graph.outputs:
            if self.producers.get(memory) is graph:
                self.abandoned[memory] = graph
                if memory in self.freed:
                    del self.producers[memory]


class Check:
    """One kind of evidence. `name` is the heading of its section in docs/checks.md.

    Replays come often: a check is told of them only while it is `awake`, of other events always.
    """

    name: str
    awake = True
    subscribes: tuple[type, ...] = ()

    def __init__(self, state: State) -> None:
        self.state = state

    def on(self, event: events.Event) -> Iterable[Finding]:
        """Judge one event of a subscribed kind."""
        raise NotImplementedError

    def finding(
        self,
        code: str,
        message: str,
        graph: Graph,
        *,
        captured: Stack = (),
        touched: Stack = (),
        level: Level = "error",
        confidence: Confidence = "definite",
    ) -> Finding:
        """A finding about a graph, at the place where the program is."""
        return Finding(
            code,
            message,
            captured or graph.stack,
            touched,
            self.state.here(),
            self.name,
            graph.number,
            graph.replays,
            level,
            confidence,
        )


class Machine:
    """Owns the state and hands each event to the checks that subscribe to it."""

    def __init__(self, state: State, checks: tuple[type[Check], ...]) -> None:
        self.state = state
        self._subscribed: dict[type, list[Check]] = {}
        for kind in checks:
            check = kind(self.state)
            for event in kind.subscribes:
                self._subscribed.setdefault(event, []).append(check)
        clocks = state.clocks
        self._passes = passes = BackwardPasses(clocks)
        self._before: dict[type, Callable[[Any], None]] = {  # what brings the state up to date
            events.CaptureEnded: state.add,
            events.MemoryFreed: state.free,
            events.EventRecorded: lambda event: clocks.record(event.event, event.stream),
            events.EventAwaited: lambda event: clocks.wait(event.stream, event.event),
            events.Synchronised: lambda event: clocks.synchronise(event.stream, event.event),
            events.BackwardBegan: lambda event: passes.begin(event.stream),
            events.BackwardEnded: lambda event: passes.end(event.stream),
            events.Read: lambda event: passes.work(event.stream),
            events.Written: lambda event: passes.work(event.stream),
        }

    def handle(self, event: events.Event) -> list[Finding]:
        """What the event shows to be wrong."""
        if type(event) is events.Replayed:
            return self._replay(event)
        before = self._before.get(type(event))
        if before is not None:
            before(event)
        found = self._ask(event)
        if type(event) is events.GraphGone:
            self.state.drop(event.graph)
        return found

    def _replay(self, event: events.Replayed) -> list[Finding]:
        """Checks see a replay before it becomes the graph's last one."""
        graph = self.state.graphs[event.graph]
        graph.replays += 1
        self._passes.work(event.stream)
        found = self._ask(event)
        graph.last = Run(event.stream, self.state.clocks.issue(event.stream), event.site)
        return found

    def _ask(self, event: events.Event) -> list[Finding]:
        found: list[Finding] = []
        for check in self._subscribed.get(type(event), ()):
            if check.awake or type(event) is not events.Replayed:
                found.extend(check.on(event))
        return found
