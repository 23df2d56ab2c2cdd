"""CG307: an operation that checks device values on the host inside a capture region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_in, reached_by

HELP = "use the form without the check, or check after the replay"


class HostCheckInCapture(Rule):
    code = "CG307"
    name = "host-check-in-capture"
    hazard = "implicit-sync"
    level = Level.ERROR
    summary = "An operation that checks device values on the host inside a capture region"
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect in ("host-check", "host-compare", "collective-host", "unsupported"):
            message = f"{reached_by(event)} needs an answer from the device on the host"
            yield Report(event.place, message, confidence_in(event.operands), help=HELP)
