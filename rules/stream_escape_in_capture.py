"""CG501: captured code puts work on a stream that has not joined the capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import StreamEscaped
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "let the stream `wait_stream` the capturing one first, and join it before the capture ends"


class StreamEscapeInCapture(Rule):
    code = "CG501"
    name = "stream-escape-in-capture"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "captured code puts work on a stream that has not joined the capture"
    rows = ("E01", "E04")
    subscribes = (StreamEscaped,)

    def on(self, event: StreamEscaped) -> Iterator[Report]:
        yield Report(event.place, "work goes to a stream that the capture has not forked to", help=HELP)
