"""CG607: nested loops capture more graphs than anybody wants."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphlint.analysis.events import CaptureStarted
from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture
from graphlint.facts import nodes as ast
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
        if _is_on_demand(capture.facts["frames"]):
            return  # how many graphs there will be is not known
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


def _is_on_demand(frames: tuple[Frame, ...]) -> bool:
    """Whether a look-up within the loops tells which graphs exist: `if key not in graphs`."""
    within = False
    for frame in frames:
        for test in (condition.place for condition in frame.conditions if not condition.decided):
            is_in_loop = any(loop.place.line < test.line for loop in frame.loops)
            if (within or is_in_loop) and _asks_for_presence(test.node):
                return True
        within = within or bool(frame.loops)
    return False


def _asks_for_presence(test: ast.AST) -> bool:
    operators = test.ops if isinstance(test, ast.Compare) else []
    return any(isinstance(each, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for each in operators)
