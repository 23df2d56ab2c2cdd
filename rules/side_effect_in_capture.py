"""CG403: captured Python writes host state that eager code reads between replays."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import SideEffect
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

WHY = {
    "counter": "is moved on here once, at the capture, and replays do not repeat it",
    "setting": "is set here once, at the capture, and replays do not set it again",
    "queue": "gets an entry here once, at the capture, and its older entries are those of every replay",
    "schedule": "moves on here once, at the capture, and replays stay with the rate that it has set then",
    "host-tensor": "is moved on here once, at the capture, and replays compute with the number it has then",
    "pop": "gives an entry away here once, at the capture, and replays stay with it",
    "iterator": "moves on here once, at the capture, and replays stay with the item that it gave then",
    "list": "gets an entry here once, at the capture, and replays add none",
    "first": "guards this work of the first call, which is captured here, so that every replay does it again",
}
SUBJECTS = {
    "iterator": "this iterator",
    "pop": "this list",
    "list": "this list",
    "queue": "this list",
    "schedule": "this schedule",
    "host-tensor": "this tensor on the host",
}
HELP = "do it in the code that calls `replay`"
HELP_FIRST = "do it before the capture, where the memory is made"
HELP_QUEUE = "keep the entries in one tensor and move them on in place"
HELPS = {"queue": HELP_QUEUE, "first": HELP_FIRST}


class SideEffectInCapture(Rule):
    code = "CG403"
    name = "side-effect-in-capture"
    hazard = "side-effect"
    level = Level.ERROR
    summary = "captured Python writes host state that eager code reads between replays"
    rows = ("D06", "I06")
    subscribes = (SideEffect,)

    def on(self, event: SideEffect) -> Iterator[Report]:
        subject = SUBJECTS.get(event.reason, f"`{event.name}`")
        message = f"{subject} {WHY[event.reason]}"
        if event.read is not None:
            message += f" (it is read at {event.read.path}:{event.read.line})"
        yield Report(event.place, message, Confidence.LIKELY, help=HELPS.get(event.reason, HELP))
