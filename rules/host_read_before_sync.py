"""CG204: the host reads memory that a replay has not filled yet."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Race
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "synchronise with the stream, or with an event that was recorded after the copy, before the host reads"


class HostReadBeforeSync(Rule):
    code = "CG204"
    name = "host-read-before-sync"
    hazard = "stale-output"
    level = Level.ERROR
    summary = "the host reads memory that a replay may not have filled yet"
    rows = ("B03",)
    subscribes = (Race,)

    def on(self, event: Race) -> Iterator[Report]:
        if event.kind == "host-read":
            message = (
                "the copy of an output to this host memory may still be under way: nothing has waited for it"
            )
            chain = (event.earlier.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
