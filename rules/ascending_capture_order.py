"""CG601: graphs that share a pool are captured from small to large."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, CaptureEnded
from graphlint.analysis.frames import Loop, Place
from graphlint.analysis.graphs import Capture, share_memory
from graphlint.analysis.values import Value
from graphlint.facts import nodes as ast
from graphlint.facts.walking import walk
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "capture the largest size first: `reversed(...)` or `sorted(..., reverse=True)`"


class AscendingCaptureOrder(Rule):
    code = "CG601"
    name = "ascending-capture-order"
    hazard = "capture-order"
    level = Level.WARNING
    summary = "graphs that share a pool are captured from small to large"
    rows = ("G04",)
    subscribes = (CaptureEnded, Called)

    def __init__(self) -> None:
        self.first: dict[int, tuple[Loop, int, Capture]] = {}
        self.sharing: dict[int, tuple[Loop, Capture]] = {}
        self.searched: list[Value] = []

    def on(self, event: CaptureEnded | Called) -> Iterator[Report]:
        if isinstance(event, Called):
            if event.what == "bisect":
                self.searched.append(event.target)
            return
        capture = event.capture
        for loop, iteration in capture.loops if capture is not None else ():
            assert capture is not None
            _, started, earlier = self.first.setdefault(id(loop), (loop, iteration, capture))
            if iteration > started and share_memory(earlier, capture):
                self.sharing[id(loop)] = (loop, capture)
        return
        yield

    def at_end(self) -> Iterator[Report]:
        for loop, capture in self.sharing.values():
            searched = not loop.order and any(loop.iterable is value for value in self.searched)
            if not loop.sized or not (loop.order == "ascending" or searched):
                continue
            message = "graphs that share a pool are captured from small to large, so the pool grows with each"
            if searched:
                message += " (`bisect` on the same sizes needs them in ascending order)"
            confidence = Confidence.LIKELY if searched else Confidence.DEFINITE
            chain = (loop.place.hop, capture.place.hop)
            yield Report(_iterable(_capturing(loop, capture)), message, confidence, chain=chain, help=HELP)


def _capturing(loop: Loop, capture: Capture) -> Place:
    """Where captures are made in turn: for a loop of a generator, the loop that takes what it yields."""
    functions = {f.qualname: f.function.node for f in capture.facts["frames"] if f.function is not None}
    looping, capturing = (functions.get(place.function) for place in (loop.place, capture.place))
    if looping is None or capturing is None or not any(isinstance(part, ast.Yield) for part in walk(looping)):
        return loop.place
    turns = (each for each in walk(capturing) if isinstance(each, ast.For))
    around = (each for each in turns if any(part is capture.place.node for part in ast.walk(each)))
    taking = next(around, None)
    return loop.place if taking is None else Place(capture.place.module, taking, capture.place.function)


def _iterable(place: Place) -> Place:
    """What the loop iterates over, which is on the line of the `for`, not the whole loop."""
    node = place.node.iter if isinstance(place.node, (ast.For, ast.AsyncFor)) else place.node
    return Place(place.module, node, place.function)
