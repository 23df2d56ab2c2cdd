"""CG406: hooks, trainable parameters or callables are changed after the capture that went through them."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

WHAT = {
    "hook": "this hook never runs in replays of a graph that was captured without it",
    "backward-hook": "this hook never runs in replays of a graph whose backward pass was captured without it",
    "gradient-hook": "this hook never runs in replays of a graph whose backward pass was captured without it",
    "requires-grad": "replays go on computing the gradient of what is not to be trained from here on",
    "unfrozen": "what is to be trained from here on has no part in the update that was captured",
    "callable": "captured code has called what was here before, and replays keep its work",
}
HELP = "capture again after the change"


class FrozenStructure(Rule):
    code = "CG406"
    name = "frozen-structure"
    hazard = "frozen-scalar"
    level = Level.WARNING
    summary = "hooks, trainable parameters or callables are changed after the capture that went through them"
    rows = ("D10",)
    subscribes = (Called,)

    def on(self, event: Called) -> Iterator[Report]:
        if event.what == "late-change":
            yield Report(event.place, WHAT[event.data], Confidence.LIKELY, chain=event.chain, help=HELP)
