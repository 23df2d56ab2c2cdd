"""CG811: a second backward pass of a graphed callable overwrites the gradients that it should add to."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Obj
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

MESSAGE = "`.grad` is still the buffer of the graph that this backward pass overwrites, so it is doubled"
HELP = "give parameters gradients of their own before the first backward pass: `p.grad = torch.zeros_like(p)`"


class GraphedGradientOverwritten(Rule):
    code = "CG811"
    name = "graphed-gradient-overwritten"
    hazard = "stale-output"
    level = Level.ERROR
    summary = "a second backward pass of a graphed callable overwrites the gradients that it should add to"
    rows = ("B01", "J05")
    subscribes = (Called,)

    def __init__(self) -> None:
        self._overwritten: list[Called] = []
        self._used = False

    def on(self, event: Called) -> Iterator[Report]:
        if event.what == "gradient-overwritten":
            self._overwritten.append(event)
        elif event.what in ("optimizer-step", "zero-grad", "scaler"):
            self._used = True
        return iter(())

    def at_end(self) -> Iterator[Report]:
        """Gradients that nobody uses may be anything, as those of a benchmark."""
        for event in self._overwritten if self._used else ():
            record = event.target.fields.get("record") if isinstance(event.target, Obj) else None
            if isinstance(record, Capture):
                chain = (record.place.hop, event.data.hop, event.place.hop)
                yield Report(event.place, MESSAGE, Confidence.LIKELY, chain=chain, help=HELP)
