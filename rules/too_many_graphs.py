"""CG607: nested loops capture more graphs than anybody wants."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphlint.analysis.events import CaptureStarted
from graphlint.analysis.graphs import Capture
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

MOST = 512
HELP = "capture fewer sizes and pad to the next one, or capture on demand"


class TooManyGraphs(Rule):
    code = "CG607"
    name = "too-many-graphs"
    hazard = "pool-misuse"
    level = Level.WARNING
    summary = "loops capture more than 512 graphs"
    rows = ("L01",)
    subscribes = (CaptureStarted,)

    def __init__(self) -> None:
        self.first: dict[object, Capture] = {}

    def on(self, event: CaptureStarted) -> Iterator[Report]:
        capture = event.capture
        if capture is None or not capture.by_program or not self._is_repeated(event, capture):
            return
        loops = capture.facts["repetitions"]
        counts = [count for _, count in loops if count is not None]
        if len(counts) == len(loops) and prod(counts) > MOST:
            message = (
                f"the loops around this capture {prod(counts)} graphs, each with nodes and memory of its own"
            )
            chain = (*(place.hop for place, _ in loops), event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)

    def _is_repeated(self, event: CaptureStarted, capture: Capture) -> bool:
        """Whether a loop around the capture has come here in an earlier round: some do so in the first."""
        key = (event.place.key, *(id(loop) for loop, _ in capture.loops))
        first = self.first.setdefault(key, capture)
        return any(
            round_ > before for (_, round_), (_, before) in zip(capture.loops, first.loops, strict=True)
        )
