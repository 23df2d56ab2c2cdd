"""CG401: captured Python takes a branch that depends on a device value."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import CONTROL_FLOW, confidence_of, reached_by

HELP = "choose on the device with `torch.where`, or decide before the capture"


class HostBranchInCapture(Rule):
    code = "CG401"
    name = "host-branch-in-capture"
    hazard = "host-branch-on-device"
    level = Level.ERROR
    summary = "captured Python takes a branch that depends on a device value"
    rows = ("C05", "C16")
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "scalar-read" and event.how in CONTROL_FLOW:
            message = f"{reached_by(event)} depends on a device value, which is not known while recording"
            yield Report(event.place, message, confidence_of(event), help=HELP)
