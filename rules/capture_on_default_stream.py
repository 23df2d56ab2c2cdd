"""CG509: `capture_begin` is called on the default stream."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import CaptureStarted
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import way_to

HELP = "begin and end the capture inside `with torch.cuda.stream(torch.cuda.Stream()):`"

# Captures that a call begins on the stream that is current, or on its own.
BY_HAND = ("capture_begin", "begin_capture")


class CaptureOnDefaultStream(Rule):
    code = "CG509"
    name = "capture-on-default-stream"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "`capture_begin` is called on the default stream"
    rows = ("E09",)
    subscribes = (CaptureStarted,)

    def on(self, event: CaptureStarted) -> Iterator[Report]:
        capture = event.capture
        if capture is None or capture.kind not in BY_HAND or capture.stream is None:
            return
        if capture.stream.label == "default" and capture.facts["script"]:
            message = "a capture cannot begin on the default stream"
            yield Report(event.place, message, chain=way_to(capture), help=HELP)
