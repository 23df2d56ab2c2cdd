"""CG804: an optimizer that keeps its step count on the host steps in captured code."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.values import Const
from graphlint.finding import Level
from graphlint.rules import operations
from graphlint.rules.rule import Report, Rule

HELP = "build the optimizer with `capturable=True`"


class OptimizerNotCapturable(Rule):
    code = "CG804"
    name = "optimizer-not-capturable"
    hazard = "training"
    level = Level.ERROR
    summary = "an optimizer that keeps its step count on the host steps in captured code"
    rows = ("J01",)
    subscribes = (Called,)

    def on(self, event: Called) -> Iterator[Report]:
        if event.what != "optimizer-step" or event.capture is None or event.capture.compiled:
            return
        lacks = any(isinstance(value, Const) and not value.value for value in event.arguments)
        if event.data in operations.listed("counting_optimizers") and lacks:
            name = event.data.rpartition(".")[2]
            message = f"`{name}` has no `capturable=True`, and replays keep the step count of the capture"
            yield Report(event.place, message, help=HELP)
            return
        entry = operations.lookup(f"torch.optim.{event.data}") if isinstance(event.data, str) else None
        if entry is None or entry.effect_of({"not-capturable"}) is None:
            return
        if lacks:
            message = f"`{event.data}` has no `capturable=True`, and its step refuses to be captured"
            yield Report(event.place, message, help=HELP)
