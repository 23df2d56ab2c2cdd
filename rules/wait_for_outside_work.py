"""CG507: captured code waits for work that is not part of the capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import OutsideWait
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "wait for it before the capture begins, or make the event with `external=True`"


class WaitForOutsideWork(Rule):
    code = "CG507"
    name = "wait-for-outside-work"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "captured code waits for work that is not part of the capture"
    rows = ("E03",)
    subscribes = (OutsideWait,)

    def on(self, event: OutsideWait) -> Iterator[Report]:
        message = "this waits for work that was issued outside of the capture"
        yield Report(event.place, message, help=HELP)
