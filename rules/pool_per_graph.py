"""CG602: a loop captures graphs of several sizes, each with a pool of its own."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import CaptureEnded
from graphlint.analysis.frames import Loop
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import is_none
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

HELP = "give all of them one pool: `pool = torch.cuda.graph_pool_handle()`, then `pool=pool`"


class PoolPerGraph(Rule):
    code = "CG602"
    name = "pool-per-graph"
    hazard = "pool-misuse"
    level = Level.WARNING
    summary = "a loop captures graphs of several sizes, each with a pool of its own"
    rows = ("G05",)
    subscribes = (CaptureEnded,)

    def __init__(self) -> None:
        self.first: dict[int, tuple[Loop, int, Capture]] = {}

    def on(self, event: CaptureEnded) -> Iterator[Report]:
        capture = event.capture
        for loop, iteration in capture.loops if capture is not None else ():
            assert capture is not None
            _, started, earlier = self.first.setdefault(id(loop), (loop, iteration, capture))
            if iteration > started and loop.sized and _is_kept(earlier) and _alike(earlier, capture):
                message = "each size is captured into a pool of its own, so memory is the sum of them all"
                yield Report(capture.place, message, chain=(loop.place.hop, capture.place.hop), help=HELP)
                return


def _is_kept(capture: Capture) -> bool:
    """Whether the graph was put into a container: one that only a local names goes with the next turn."""
    return capture.graph is not None and "keys" in capture.graph.fields


def _alike(earlier: Capture, later: Capture) -> bool:
    """Two captures of one region on one stream, both without a pool: they could have shared one."""
    without = is_none(earlier.pool) and is_none(later.pool)
    same = earlier.place.key == later.place.key and earlier.stream is later.stream
    return without and same and earlier.kind in ("torch.cuda.graph", "capture_begin")
