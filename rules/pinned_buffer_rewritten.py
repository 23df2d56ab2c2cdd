"""CG107: pinned memory is rewritten before a recorded copy has read it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Race
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "wait for an event recorded after the copy, or take turns between several buffers"


class PinnedBufferRewritten(Rule):
    code = "CG107"
    name = "pinned-buffer-rewritten"
    hazard = "stale-pointer"
    level = Level.ERROR
    summary = "pinned memory is rewritten before the device has read it"
    rows = ("H03", "H04")
    subscribes = (Race,)

    def on(self, event: Race) -> Iterator[Report]:
        if event.kind == "host-write":
            message = "this rewrites pinned memory that a copy to the device may not have read yet"
            chain = (event.earlier.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
