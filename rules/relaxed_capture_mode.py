"""CG510: a capture runs in the relaxed mode, which hides unsafe calls."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import CaptureStarted
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import way_to

HELP = 'use `capture_error_mode="thread_local"` where other threads are the reason'


class RelaxedCaptureMode(Rule):
    code = "CG510"
    name = "relaxed-capture-mode"
    hazard = "thread-mode"
    level = Level.NOTE
    summary = "a capture runs in the relaxed mode, which hides unsafe calls"
    rows = ("E11",)
    subscribes = (CaptureStarted,)

    def on(self, event: CaptureStarted) -> Iterator[Report]:
        if (
            event.capture is not None
            and event.capture.mode == "relaxed"
            and event.capture.kind != "begin_capture"
        ):
            message = "in the relaxed mode calls that a capture must not make go through without an error"
            yield Report(event.place, message, chain=way_to(event.capture), help=HELP)
