"""CG301: captured code waits for the device explicitly."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import reached_by

HELP = "synchronise before the capture begins or after it has ended"
HELP_FOR_COPIES = "pass `non_blocking=True`: a copy of pinned memory can be recorded"
WAITS = "waits for the device while its work is only being recorded"
ASKS = "asks whether device work has finished while it is only being recorded"


class HostSyncInCapture(Rule):
    code = "CG301"
    name = "host-sync-in-capture"
    hazard = "sync-in-capture"
    level = Level.ERROR
    summary = "captured code waits for the device explicitly"
    rows = ("C01", "C13", "C18")
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect in ("sync", "query"):
            what = WAITS if event.effect == "sync" else ASKS
            copies = event.effect == "sync" and event.name.startswith("Tensor.")
            help = HELP_FOR_COPIES if copies else HELP
            yield Report(event.place, f"{reached_by(event)} {what}", help=help)
