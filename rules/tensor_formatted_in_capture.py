"""CG304: captured code prints or formats a device tensor."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

HELP = "format the shape and dtype only, or print after the replay"


class TensorFormattedInCapture(Rule):
    code = "CG304"
    name = "tensor-formatted-in-capture"
    hazard = "implicit-sync"
    level = Level.ERROR
    summary = "captured code prints or formats a device tensor"
    rows = ("C04",)
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "format":
            message = f"{reached_by(event)} formats a device tensor and reads its values back to the host"
            yield Report(event.place, message, confidence_of(event), help=HELP)
