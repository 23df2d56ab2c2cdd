"""Events in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.sentinel.core import events
from graphlint.sentinel.findings import Finding, Stack


@dataclass(slots=True)
class Graph:
    """What is known of one captured graph."""

    number: int
    pool: int
    stream: int
    stack: Stack
    inputs: dict[int, events.Input]
    outputs: tuple[events.Output, ...]
    ranges: tuple[tuple[int, int], ...]
    replays: int = 0


@dataclass(slots=True)
class State:
    """What all checks share: the graphs, and where the program is.

    `here` gives the stack of the event that is being handled; it is asked only when something was found.
    """

    here: Callable[[], Stack]
    graphs: dict[int, Graph] = field(default_factory=dict)


class Check:
    """One kind of evidence. `name` is the heading of its section in docs/checks.md."""

    name: str
    subscribes: tuple[type, ...] = ()

    def __init__(self, state: State) -> None:
        self.state = state

    def on(self, event: events.Event) -> Iterator[Finding]:
        """Judge one event of a subscribed kind."""
        raise NotImplementedError


class Machine:
    """Owns the state and hands each event to the checks that subscribe to it."""

    def __init__(self, here: Callable[[], Stack], checks: tuple[type[Check], ...]) -> None:
        self.state = State(here)
        self._subscribed: dict[type, list[Check]] = {}
        for kind in checks:
            check = kind(self.state)
            for event in kind.subscribes:
                self._subscribed.setdefault(event, []).append(check)

    def handle(self, event: events.Event) -> list[Finding]:
        """What the event shows to be wrong."""
        if isinstance(event, events.CaptureEnded):
            self.state.graphs[event.graph] = _graph(event)
        elif isinstance(event, events.Replayed):
            self.state.graphs[event.graph].replays += 1
        found = [finding for check in self._subscribed.get(type(event), ()) for finding in check.on(event)]
        if isinstance(event, events.GraphGone):
            self.state.graphs.pop(event.graph, None)
        return found


def _graph(event: events.CaptureEnded) -> Graph:
    inputs = {given.memory: given for given in event.inputs}
    return Graph(event.graph, event.pool, event.stream, event.stack, inputs, event.outputs, event.ranges)
