"""CG304: a device tensor printed or formatted inside a capture region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_in

HELP = "format the shape and dtype only, or print after the replay"


class TensorFormattedInCapture(Rule):
    code = "CG304"
    name = "tensor-formatted-in-capture"
    hazard = "implicit-sync"
    level = Level.ERROR
    summary = "A device tensor printed or formatted inside a capture region"
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "format":
            how = "a call" if event.how == "call" else f"`{event.how}`"
            message = f"{how} formats a device tensor, which reads its values back to the host"
            yield Report(event.place, message, confidence_in(event.operands), help=HELP)
