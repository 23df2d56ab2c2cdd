"""CG104: captured code runs a library object that was not built for graphs."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

HELP = "build it with `use_cuda_graph=True` and buffers of its own, and plan again before each replay"


class LibraryNotInGraphMode(Rule):
    code = "CG104"
    name = "library-not-in-graph-mode"
    hazard = "stale-pointer"
    level = Level.ERROR
    summary = "captured code runs a library object that was not built for graphs"
    rows = ("A16",)
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        if event.effect == "graph-mode":
            message = f"{reached_by(event)} is captured, but its object binds new buffers whenever it plans"
            yield Report(event.place, message, confidence_of(event), help=HELP)
