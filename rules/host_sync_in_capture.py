"""CG301: an explicit wait for the GPU inside a capture region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "synchronise before the capture begins or after it has ended"


class HostSyncInCapture(Rule):
    code = "CG301"
    name = "host-sync-in-capture"
    hazard = "sync-in-capture"
    level = Level.ERROR
    summary = "An explicit wait for the GPU inside a capture region"
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect in ("sync", "query"):
            what = "waits for" if event.effect == "sync" else "asks about"
            yield Report(event.place, f"`{event.name}` {what} work that is only being recorded", help=HELP)
