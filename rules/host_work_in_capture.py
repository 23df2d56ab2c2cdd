"""CG407: captured code computes with tensors on the host, once, at the capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import HostWork
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "compute it before each replay and copy the result, or compute it on the device"
HELP_SUM = "do it in the code that calls `replay`"


class HostWorkInCapture(Rule):
    code = "CG407"
    name = "host-work-in-capture"
    hazard = "side-effect"
    level = Level.ERROR
    summary = "captured code computes with tensors on the host, once, at the capture"
    rows = ("D08",)
    subscribes = (HostWork,)

    def on(self, event: HostWork) -> Iterator[Report]:
        if event.read is None:
            message = (
                "this is computed on the host, once, at the capture; what it is computed from changes, and "
                "replays keep the result"
            )
            yield Report(event.place, message, Confidence.LIKELY, help=HELP)
        else:
            where = f"{event.read.path}:{event.read.line}"
            message = (
                f"this tensor on the host is moved on at the capture, not by replays (it is read at {where})"
            )
            yield Report(event.place, message, Confidence.LIKELY, help=HELP_SUM)
