"""CG307: captured code runs an operation that needs an answer from the device on the host."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

WHAT = {
    "host-check": "reads an error code or a check back to the host",
    "host-compare": "compares device tensors on the host",
    "collective-host": "waits on the host for the other processes",
    "unsupported": "cannot be captured",
}
HELP = "use the form without the check, or check after the replay"


class HostCheckInCapture(Rule):
    code = "CG307"
    name = "host-check-in-capture"
    hazard = "implicit-sync"
    level = Level.ERROR
    summary = "captured code runs an operation that needs an answer from the device on the host"
    rows = ("C06", "C14", "C15", "C16", "C17", "C19", "C21", "D13")
    subscribes = (Operation, Called)

    def on(self, event: Operation | Called) -> Iterator[Report]:
        if isinstance(event, Called):
            if event.what == "backward" and event.capture is not None and event.capture.facts["anomaly"]:
                message = "with anomaly detection on, a backward pass reads every gradient back to the host"
                yield Report(event.place, message, help="switch the detection off for the capture")
        elif event.effect in WHAT:
            message = f"{reached_by(event)} {WHAT[event.effect]}"
            yield Report(event.place, message, confidence_of(event), help=HELP)
