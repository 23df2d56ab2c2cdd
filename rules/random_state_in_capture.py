"""CG505: captured code reads or sets random state."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, Operation
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "seed, save and restore random state before the capture or between replays"


class RandomStateInCapture(Rule):
    code = "CG505"
    name = "random-state-in-capture"
    hazard = "rng-unregistered"
    level = Level.ERROR
    summary = "captured code reads or sets random state"
    rows = ("F02",)
    subscribes = (Called, Operation)

    def on(self, event: Called | Operation) -> Iterator[Report]:
        if isinstance(event, Operation):
            if event.effect == "rng-state" and "generator" not in event.keywords:
                message = f"`{event.name}` draws a new seed, which a capturing stream refuses"
                yield Report(event.place, message, help=HELP)
        elif event.what == "rng-state" and event.capture is not None and not event.capture.compiled:
            message = f"`{event.data}` touches random state in the capture, and replays do not repeat it"
            yield Report(event.place, message, Confidence.LIKELY, Level.WARNING, help=HELP)
