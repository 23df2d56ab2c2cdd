"""CG302: captured code reads a device value as a Python number."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import CONTROL_FLOW, confidence_of, reached_by

HELP = "keep the value on the device, or read it after the replay"


class ScalarReadInCapture(Rule):
    code = "CG302"
    name = "scalar-read-in-capture"
    hazard = "sync-in-capture"
    level = Level.ERROR
    summary = "captured code reads a device value as a Python number"
    rows = ("C02", "C05", "C10", "K04", "L04")
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect != "scalar-read" or event.how in CONTROL_FLOW:
            return
        message = f"{reached_by(event)} reads a device value back to the host and waits for it"
        yield Report(event.place, message, confidence_of(event), help=HELP)
