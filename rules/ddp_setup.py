"""CG806: `DistributedDataParallel` was built on the default stream, and its backward pass is captured."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.analysis.values import Obj, Value
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "build it inside `with torch.cuda.stream(side):`, where `side` waits for the current stream"


class DdpSetup(Rule):
    code = "CG806"
    name = "ddp-setup"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "`DistributedDataParallel` is built on the default stream, and its backward pass is captured"
    rows = ("E05", "J06")
    subscribes = (Called,)

    def __init__(self) -> None:
        self._built: dict[int, Called] = {}
        self._called: set[int] = set()

    def on(self, event: Called) -> Iterator[Report]:
        if event.what == "ddp" and isinstance(event.target, Obj):
            if not any(_is_side(stream) for stream in event.data[-1:]):
                self._built[event.target.serial] = event
        elif event.capture is None or event.capture.compiled:
            return
        elif event.what == "ddp-call" and isinstance(event.target, Obj):
            self._called.add(event.target.serial)
        elif event.what == "backward":
            for serial in self._called & self._built.keys():
                built = self._built.pop(serial)
                message = (
                    "gradient hooks are bound to the default stream here, and a captured backward runs them"
                )
                yield Report(built.place, message, chain=(built.place.hop, event.place.hop), help=HELP)


def _is_side(stream: Value) -> bool:
    return isinstance(stream, Obj) and stream.label != "default"
