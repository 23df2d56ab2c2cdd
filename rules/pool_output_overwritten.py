"""CG604: an output is read after the replay of another graph of its pool."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import PoolOverwritten
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "read or `clone()` the output before another graph of the pool is replayed"


class PoolOutputOverwritten(Rule):
    code = "CG604"
    name = "pool-output-overwritten"
    hazard = "pool-misuse"
    level = Level.ERROR
    summary = "an output is read after the replay of another graph of its pool"
    rows = ("G01",)
    subscribes = (PoolOverwritten,)

    def on(self, event: PoolOverwritten) -> Iterator[Report]:
        message = (
            "this output may be overwritten: a graph that was captured before it into the same pool "
            f"has been replayed since (line {event.replayed.line})"
        )
        chain = (event.replayed.hop, event.place.hop)
        yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
