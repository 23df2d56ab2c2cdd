"""CG808: a gradient scaler steps or updates on the host inside a capture region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.values import Const
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "capture forward and backward with `scaler.scale(loss)`; call `step` and `update` after the replay"


class GradScalerInCapture(Rule):
    code = "CG808"
    name = "grad-scaler-in-capture"
    hazard = "implicit-sync"
    level = Level.ERROR
    summary = "a gradient scaler steps or updates on the host inside a capture region"
    rows = ("C20", "J13")
    subscribes = (Called,)

    def __init__(self) -> None:
        self.on_device: set[int] = set()  # captures with a step that leaves the check to the GPU

    def on(self, event: Called) -> Iterator[Report]:
        if event.what != "scaler" or event.capture is None or not isinstance(event.target, Const):
            return
        if event.target.value == "step" and event.data:
            self.on_device.add(id(event.capture))
        elif event.target.value == "step":
            message = "`GradScaler.step` reads on the host whether gradients are finite"
            yield Report(event.place, message, help=HELP)
        elif event.target.value == "update" and id(event.capture) not in self.on_device:
            message = "`GradScaler.update` resets host state once, at the capture, and replays do not"
            yield Report(event.place, message, Confidence.LIKELY, Level.WARNING, help=HELP)
