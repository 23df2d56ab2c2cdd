"""CG506: a stream forked from the capture has work that the capturing stream never waits for."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import StreamUnjoined
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "let the capturing stream wait for it before the capture ends: `current_stream().wait_stream(side)`"


class UnjoinedStream(Rule):
    code = "CG506"
    name = "unjoined-stream"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "a stream forked from the capture has work that the capturing stream never waits for"
    rows = ("E02",)
    subscribes = (StreamUnjoined,)

    def on(self, event: StreamUnjoined) -> Iterator[Report]:
        message = "the capture ends before it has waited for the work on this stream"
        yield Report(event.place, message, help=HELP)
