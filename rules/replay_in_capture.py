"""CG504: a graph is replayed, or another one captured, while a capture is open."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import events
from graphlint.analysis.graphs import Capture
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "run the function itself while `torch.cuda.is_current_stream_capturing()`"


class ReplayInCapture(Rule):
    code = "CG504"
    name = "replay-in-capture"
    hazard = "other"
    level = Level.ERROR
    summary = "a graph is replayed, or another one captured, while a capture is open"
    rows = ("E10",)
    subscribes = (events.ReplayInCapture, events.CaptureStarted)

    def on(self, event: events.ReplayInCapture | events.CaptureStarted) -> Iterator[Report]:
        if isinstance(event, events.ReplayInCapture):
            yield Report(
                event.place, "the replay of a graph cannot be recorded into another graph", help=HELP
            )
        elif event.capture is not None and _is_nested(event.capture):
            message = "a capture cannot begin while another one is open"
            chain = (*event.capture.chain, event.place.hop)
            yield Report(event.place, message, chain=chain, help=HELP)


def _is_nested(capture: Capture) -> bool:
    """Whether the program itself began both captures: what a compiler records is judged by CG702."""
    outer = capture.facts["outer"]
    return isinstance(outer, Capture) and capture.by_program and outer.by_program
