"""CG405: captured Python sleeps or cleans up on the host, once, at the capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

# What captured code does on the host, in words.
EFFECTS = {
    "garbage": "collects garbage, which may free another graph and break this capture",
    "sleep": "sleeps at the capture, and no replay does",
}
HELP = "do it before the capture, or around each replay"


class HostEffectInCapture(Rule):
    code = "CG405"
    name = "host-effect-in-capture"
    hazard = "side-effect"
    level = Level.WARNING
    summary = "captured Python sleeps or collects garbage on the host"
    rows = ("D06", "G09")
    subscribes = (Called,)

    def on(self, event: Called) -> Iterator[Report]:
        effect = EFFECTS.get(event.data) if event.what == "host-effect" else None
        if effect is not None and event.capture is not None and not event.capture.compiled:
            yield Report(event.place, f"captured code {effect}", help=HELP)
