"""CG810: communicators are destroyed while a graph that holds their collectives is alive."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.graphs import Capture
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "let the graph go first: `graph.reset()`, or drop the last name that leads to it"


class GroupDestroyedUnderGraph(Rule):
    code = "CG810"
    name = "group-destroyed-under-graph"
    hazard = "other"
    level = Level.WARNING
    summary = "communicators are destroyed while a graph that holds their collectives is alive"
    rows = ("J07",)
    subscribes = (Called,)

    def on(self, event: Called) -> Iterator[Report]:
        capture = event.data
        if event.what != "group-destroyed" or not isinstance(capture, Capture):
            return
        message = "the communicators are destroyed while a captured graph still holds them, which can hang"
        chain = (capture.place.hop, capture.facts["collective"].hop, event.place.hop)
        yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
