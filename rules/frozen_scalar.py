"""CG402: a host number that changes between calls is recorded into a graph."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import FrozenUse
from graphlint.analysis.frames import Place
from graphlint.analysis.values import DRAWN, MODE
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

USES = {
    "arithmetic": "becomes an operand of a recorded kernel",
    "fill": "is written by a recorded kernel",
    "argument": "becomes an argument of a recorded kernel",
    "launch": "becomes a launch argument",
    "slice": "bounds a slice in captured code",
    "index": "is an index in captured code",
    "key": "chooses a tensor in captured code",
    "elements": "is gone through in captured code",
    "loop": "bounds a loop in captured code",
    "flag": "decides a branch in captured code",
    "branch": "decides a branch in captured code",
    "learning-rate": "is the learning rate of a captured optimizer step",
    "optimizer-option": "is an option of a captured optimizer step",
}
HELP = "keep it in a device tensor and `fill_` it before each replay, or make it part of the graph's key"


class FrozenScalar(Rule):
    code = "CG402"
    name = "frozen-scalar"
    hazard = "frozen-scalar"
    level = Level.ERROR
    summary = "a host number that changes between calls is recorded into a graph"
    rows = ("D01", "D02", "D03", "D04", "D05", "D10", "J11", "L03", "L05")
    subscribes = (FrozenUse,)

    def on(self, event: FrozenUse) -> Iterator[Report]:
        if any(key == DRAWN for _, key in event.use.cells):
            return  # CG404 tells of it where it was drawn
        if event.written is not None and any(key == MODE for _, key in event.use.cells):
            yield self._other_mode(event, event.written)
            return
        if event.written is not None and event.use.use in ("learning-rate", "optimizer-option"):
            yield self._no_effect(event, event.written)
        if event.use.use == "optimizer-groups":
            yield from self._no_group(event)
            return
        how = USES.get(event.use.use, "is used")
        message = f"a host value that changes between replays {how}, and replays keep the captured one"
        if event.written is not None:
            message += f" (it is written at {event.written.path}:{event.written.line})"
        yield Report(event.place, message, help=HELP)

    def _no_effect(self, event: FrozenUse, change: Place) -> Report:
        """A rate is wrong in two places: where it is recorded, and where a schedule believes to change it."""
        names = [key[1] for _, key in event.use.cells if isinstance(key, tuple) and key[:1] == ("const",)]
        what = "learning rate" if event.use.use == "learning-rate" else f"`{names[0]}`" if names else "option"
        message = f"the captured optimizer step does not see this change of its {what}"
        chain = (*event.use.chain, change.hop)
        return Report(change, message, level=Level.WARNING, chain=chain, help=HELP)

    def _no_group(self, event: FrozenUse) -> Iterator[Report]:
        if event.written is not None:
            message = "the captured optimizer step does not know the parameter group that is added here"
            chain = (*event.use.chain, event.written.hop)
            yield Report(event.written, message, chain=chain, help="capture the step again")

    def _other_mode(self, event: FrozenUse, switch: Place) -> Report:
        message = "the mode is switched here, but the graph replayed next was captured in the other one"
        chain = (*event.use.chain, switch.hop)
        return Report(switch, message, chain=chain, help="capture a graph for each mode, or run this eagerly")
