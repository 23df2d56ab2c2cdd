"""CG401: python control flow that depends on a device value inside a capture region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.scalar_read_in_capture import CONTROL_FLOW
from graphlint.rules.wording import confidence_in

HELP = "choose on the device with `torch.where`, or decide before the capture"


class HostBranchInCapture(Rule):
    code = "CG401"
    name = "host-branch-in-capture"
    hazard = "host-branch-on-device"
    level = Level.ERROR
    summary = "Python control flow that depends on a device value inside a capture region"
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "scalar-read" and event.how in CONTROL_FLOW:
            message = f"`{event.how}` on a device tensor reads it back to the host, and the branch is frozen"
            yield Report(event.place, message, confidence_in(event.operands), help=HELP)
