"""CG504: a graph is replayed while another capture is open."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import events
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "run the function itself while `torch.cuda.is_current_stream_capturing()`"


class ReplayInCapture(Rule):
    code = "CG504"
    name = "replay-in-capture"
    hazard = "other"
    level = Level.ERROR
    summary = "a graph is replayed while another capture is open"
    rows = ("E10",)
    subscribes = (events.ReplayInCapture,)

    def on(self, event: events.ReplayInCapture) -> Iterator[Report]:
        message = "the replay of a graph cannot be recorded into another graph"
        yield Report(event.place, message, help=HELP)
