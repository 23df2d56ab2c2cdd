"""CG608: two replays that share memory may be under way at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Race
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "let the second stream wait for the first replay, or capture another graph with a pool of its own"
SHARED = {
    "same-graph": "inputs, outputs and temporaries",
    "same-pool": "the memory of their temporaries and outputs",
}


class ConcurrentReplays(Rule):
    code = "CG608"
    name = "concurrent-replays"
    hazard = "pool-misuse"
    level = Level.ERROR
    summary = "two replays that share memory may be under way at the same time"
    rows = ("E12", "G02")
    subscribes = (Race,)

    def on(self, event: Race) -> Iterator[Report]:
        if event.kind in SHARED:
            message = (
                "this replay does not wait for the one on another stream, "
                f"and the two share {SHARED[event.kind]}"
            )
            chain = (event.earlier.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
