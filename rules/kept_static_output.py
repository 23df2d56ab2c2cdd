"""CG201: an output of a graph is kept while the next replay overwrites it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import LastCaptureRead, Returned, StaleRead
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "`clone()` the output before it outlives the next replay"
PER_GRAPH = "keep it beside its graph after each capture, and take the one of the graph that is replayed"


class KeptStaticOutput(Rule):
    code = "CG201"
    name = "kept-static-output"
    hazard = "stale-output"
    level = Level.ERROR
    summary = "an output of a graph is kept while the next replay overwrites it"
    rows = ("B01", "B02", "B06", "B08")
    subscribes = (StaleRead, Returned, LastCaptureRead)

    def on(self, event: StaleRead | Returned | LastCaptureRead) -> Iterator[Report]:
        if isinstance(event, StaleRead):
            yield from self._stale(event)
        elif isinstance(event, LastCaptureRead):
            message = f"`{event.name}` is what the last capture has left here, whichever graph is replayed"
            chain = (event.written.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=PER_GRAPH)
        elif event.copied:
            message = "some outputs of the graph are copied here and others are returned as they are"
            yield Report(event.place, message, Confidence.LIKELY, help=HELP)

    def _stale(self, event: StaleRead) -> Iterator[Report]:
        kept = event.kept or event.taken
        message = "an output of the graph is kept here without a copy, and the next replay overwrites it"
        hops = dict.fromkeys((event.taken.hop, kept.hop, event.place.hop))
        yield Report(kept, message, chain=tuple(hops), help=HELP)
