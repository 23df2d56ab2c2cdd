"""CG508: a failed capture of random operations is swallowed, and the program goes on eagerly."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, CaptureGuarded
from graphlint.analysis.values import Const, Obj, is_none
from graphlint.finding import Confidence, Hop, Level
from graphlint.rules.rule import Report, Rule

HELP = "let the failure end the process, or try the capture in a process of its own first"


class SwallowedCaptureFailure(Rule):
    code = "CG508"
    name = "swallowed-capture-failure"
    hazard = "rng-unregistered"
    level = Level.WARNING
    summary = "a failed capture of random operations is swallowed, and the program goes on eagerly"
    rows = ("F04",)
    subscribes = (Called, CaptureGuarded)

    def __init__(self) -> None:
        self._random: dict[int, tuple[Hop, ...]] = {}

    def on(self, event: Called | CaptureGuarded) -> Iterator[Report]:
        if isinstance(event, CaptureGuarded):
            drawing = [self._random[id(each)] for each in event.guarded if id(each) in self._random]
            if drawing:
                message = (
                    "after a capture that failed here the default generator stays in capture mode, and the "
                    "next eager random operation raises"
                )
                chain = (*drawing[0], event.place.hop)
                yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
        elif event.capture is not None and _draws(event):
            self._random.setdefault(id(event.capture), event.chain)


def _draws(event: Called) -> bool:
    """Whether an operation or module takes numbers from the default generator."""
    if event.what == "random":
        given = event.keywords.get("generator")
        return is_none(given)
    if event.what != "module" or not isinstance(event.target, Obj) or not isinstance(event.target.cls, str):
        return False
    if "Dropout" not in event.target.cls or event.capture is None or not event.capture.facts["gradients"]:
        return False  # without gradients a module is used for inference
    mode = event.target.fields.get("training")
    return not (isinstance(mode, Const) and not mode.value)
