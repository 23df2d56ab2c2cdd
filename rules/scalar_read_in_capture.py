"""CG302: a device value read as a Python number inside a capture region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_in, reached_by

# These decide which Python runs; `host-branch-in-capture` speaks of them.
CONTROL_FLOW = frozenset(
    {
        "if",
        "while",
        "assert",
        "and",
        "or",
        "not",
        "conditional expression",
        "chained comparison",
        "comprehension filter",
        "in",
    }
)
HELP = "keep the value on the device, or read it after the replay"


class ScalarReadInCapture(Rule):
    code = "CG302"
    name = "scalar-read-in-capture"
    hazard = "sync-in-capture"
    level = Level.ERROR
    summary = "A device value read as a Python number inside a capture region"
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect != "scalar-read" or event.how in CONTROL_FLOW:
            return
        message = f"{reached_by(event)} copies a device value to the host and waits for it"
        yield Report(event.place, message, confidence_in(event.operands), help=HELP)
