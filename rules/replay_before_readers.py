"""CG203: a graph is replayed while work on another stream still reads its last output."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Race
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "let the stream of the replay wait for the reader, by `wait_stream` or an event, before the replay"


class ReplayBeforeReaders(Rule):
    code = "CG203"
    name = "replay-before-readers"
    hazard = "stale-output"
    level = Level.ERROR
    summary = "a graph is replayed while work on another stream still reads its last output"
    rows = ("B05",)
    subscribes = (Race,)

    def on(self, event: Race) -> Iterator[Report]:
        if event.kind == "overwritten":
            message = "this replay overwrites a tensor that work on another stream may still be reading"
            chain = (event.earlier.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
