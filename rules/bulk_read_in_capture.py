"""CG303: captured code copies a device tensor to the host."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

HELP = "copy with `non_blocking=True` into a pinned static buffer, or read after the replay"


class BulkReadInCapture(Rule):
    code = "CG303"
    name = "bulk-read-in-capture"
    hazard = "sync-in-capture"
    level = Level.ERROR
    summary = "captured code copies a device tensor to the host"
    rows = ("C03",)
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "bulk-read":
            message = f"{reached_by(event)} copies a device tensor to the host and waits for it"
            yield Report(event.place, message, confidence_of(event), help=HELP)
