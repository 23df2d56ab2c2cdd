"""CG306: captured code copies host data that is not in pinned memory to the device."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

HELP = "make the tensor on the device before the capture, or keep a pinned static buffer"


class PageableCopyInCapture(Rule):
    code = "CG306"
    name = "pageable-copy-in-capture"
    hazard = "pageable-copy"
    level = Level.ERROR
    summary = "captured code copies host data that is not in pinned memory to the device"
    rows = ("C08", "C11", "C12", "H01")
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "host-data":
            message = f"{reached_by(event)} copies host memory that is not pinned to the device"
            yield Report(event.place, message, confidence_of(event), help=HELP)
