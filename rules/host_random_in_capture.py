"""CG404: captured code draws a random number on the host, or reads a clock into a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, FrozenUse
from graphlint.analysis.values import OF_CLOCK, Const
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "draw it on the device (`torch.rand`), or draw it outside and `fill_` a tensor before each replay"


class HostRandomInCapture(Rule):
    code = "CG404"
    name = "host-random-in-capture"
    hazard = "frozen-scalar"
    level = Level.ERROR
    summary = "captured code draws a random number on the host, or reads a clock into a kernel"
    rows = ("D07",)
    subscribes = (Called, FrozenUse)

    def on(self, event: Called | FrozenUse) -> Iterator[Report]:
        if event.capture is None or event.capture.compiled:
            return
        if isinstance(event, FrozenUse):
            if OF_CLOCK in event.use.cells:  # what was drawn is reported where it was drawn
                message = "a time that captured code has read is used here, and replays keep the captured one"
                yield Report(event.place, message, help=HELP)
        elif event.what == "host-random" and isinstance(event.target, Const):
            message = f"`{event.target.value}` draws once, at the capture, and replays keep what it drew"
            yield Report(event.place, message, Confidence.LIKELY, help=HELP)
