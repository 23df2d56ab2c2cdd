"""CG805: an eager backward pass goes through operations that were captured."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Tensor
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

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
        graph = event.target.storage.graph
        record = graph.fields.get("record") if graph is not None else None
        if isinstance(record, Capture) and record.kind in ("torch.cuda.graph", "capture_begin"):
            message = "this backward pass uses the autograd graph of the capture, which replays do not renew"
            yield Report(event.place, message, chain=(record.place.hop, event.place.hop), help=HELP)
