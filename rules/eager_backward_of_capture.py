"""CG805: an eager backward pass goes through operations that were captured."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Tensor
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

# Captures that leave the backward pass to the program.
BY_PROGRAM = ("torch.cuda.graph", "capture_begin")
HELP = "capture the backward pass too, or use `torch.cuda.make_graphed_callables`"


class EagerBackwardOfCapture(Rule):
    code = "CG805"
    name = "eager-backward-of-capture"
    hazard = "training"
    level = Level.ERROR
    summary = "an eager backward pass goes through operations that were captured"
    rows = ("J04",)
    subscribes = (Called,)

    def on(self, event: Called) -> Iterator[Report]:
        if event.what != "backward" or event.capture is not None or not isinstance(event.target, Tensor):
            return
        own = event.target.storage.graph
        for graph in (own,) if own is not None else event.target.through:
            record = graph.fields.get("record")
            if isinstance(record, Capture) and record.kind in BY_PROGRAM:
                message = (
                    "this backward pass uses the autograd graph of the capture, which replays do not renew"
                )
                yield Report(event.place, message, chain=(record.place.hop, event.place.hop), help=HELP)
                return
