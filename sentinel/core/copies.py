"""Whether a copy into an input copies what it is given."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check
from graphlint.sentinel.findings import Finding


class MismatchedCopies(Check):
    """In mode "test": copies into inputs that repeat, round or drop a part of what they are given."""

    name = "mismatched-copies"
    subscribes = (events.Written,)

    def on(self, event: events.Event) -> Iterator[Finding]:
        assert isinstance(event, events.Written)
        if not event.misfit:
            return
        for graph in self.state.graphs.values():
            given = graph.inputs.get(event.memory)
            if given is not None:
                message = f"the copy into {given.shown} {event.misfit}"
                yield self.finding("CG108", message, graph, level="warning", confidence="likely")
                return
