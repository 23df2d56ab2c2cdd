"""CG305: captured code runs an operation whose result size depends on device data."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

HELP = "use a form with a fixed size: `torch.where` with a mask, `nonzero_static`, `output_size=`"


class DynamicShapeInCapture(Rule):
    code = "CG305"
    name = "dynamic-shape-in-capture"
    hazard = "dynamic-shape"
    level = Level.ERROR
    summary = "captured code runs an operation whose result size depends on device data"
    rows = ("C07", "C08", "C09")
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect in ("dynamic-shape", "size-read"):
            message = f"{reached_by(event)} needs device data to know how many elements there are"
            yield Report(event.place, message, confidence_of(event), help=HELP)
