"""CG809: `DistributedDataParallel` is captured before it has settled."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.values import Obj
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

ENOUGH = 11
HELP = f"run at least {ENOUGH} iterations before the capture"


class DdpShortWarmup(Rule):
    code = "CG809"
    name = "ddp-short-warmup"
    hazard = "missing-warmup"
    level = Level.ERROR
    summary = "`DistributedDataParallel` is captured before it has settled"
    rows = ("J06",)
    subscribes = (Called,)

    def __init__(self) -> None:
        self._runs: dict[int, dict[tuple[str, int, int], tuple[Place, int | None]]] = {}
        self._captured: set[int] = set()

    def on(self, event: Called) -> Iterator[Report]:
        """Count the iterations of warm-up loops; a module that never runs before is another rule's case."""
        if event.what == "ddp-call" and isinstance(event.target, Obj):
            serial = event.target.serial
            if event.capture is None:
                place, count = _iterations(event)
                self._runs.setdefault(serial, {})[place.key] = (place, count)
            elif not event.capture.compiled:
                self._captured.add(serial)
        elif event.what == "backward" and event.capture is not None:
            for serial in self._captured & self._runs.keys():
                yield from self._judge(serial)

    def _judge(self, serial: int) -> Iterator[Report]:
        runs = self._runs.pop(serial)
        counts = [count for _, count in runs.values()]
        known = [count for count in counts if count is not None]
        if len(known) == len(counts) and sum(known) < ENOUGH:
            place = list(runs.values())[-1][0]
            message = (
                f"{sum(known)} warm-up iterations are too few: the reducer of the module still rebuilds its "
                f"buckets and takes statistics, and {ENOUGH} are needed"
            )
            yield Report(place, message, help=HELP)


def _iterations(event: Called) -> tuple[Place, int | None]:
    """The outermost loop around a call, or the call, and how often the call runs."""
    loops = event.data
    if not loops:
        return event.place, 1
    counts = [count for _, count in loops]
    return loops[0][0], None if None in counts else prod(counts)
