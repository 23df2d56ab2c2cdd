"""CG103: nothing holds an input of a graph any more."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import InputFreed
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "keep the tensor for as long as the graph: beside it in an object, or in what is returned with it"


class FreedStaticInput(Rule):
    code = "CG103"
    name = "freed-static-input"
    hazard = "stale-pointer"
    level = Level.ERROR
    summary = "nothing holds an input of a graph any more"
    rows = ("A02", "H02")
    subscribes = (InputFreed,)

    def on(self, event: InputFreed) -> Iterator[Report]:
        if event.storage.owner == "parameter":
            message = "nothing holds this module when the graph is replayed, which keeps reading its weights"
        elif event.place is event.storage.site:
            message = (
                "nothing holds this memory after the function has returned, but a graph keeps reading it"
            )
        else:
            message = "this frees memory that a graph keeps reading: the cache was all that held it"
        chain = (event.recorded.place.hop, event.used.hop, event.place.hop)
        yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
