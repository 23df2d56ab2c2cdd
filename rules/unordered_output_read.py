"""CG202: an output is read on a stream that does not wait for the replay."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Race
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "let the reading stream wait for the one of the replay, by `wait_stream` or an event"


class UnorderedOutputRead(Rule):
    code = "CG202"
    name = "unordered-output-read"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "an output is read on a stream that does not wait for the replay"
    rows = ("B04",)
    subscribes = (Race,)

    def on(self, event: Race) -> Iterator[Report]:
        if event.kind == "output":
            message = (
                "this reads an output of a graph on another stream than the replay, and does not wait for it"
            )
            chain = (event.earlier.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
