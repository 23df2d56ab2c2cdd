"""CG605: graphs captured on different streams are given one pool."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import CaptureEnded
from graphlint.analysis.graphs import Capture, share_memory
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import way_to

HELP = "capture all graphs of a pool on one stream"


class PoolAcrossStreams(Rule):
    code = "CG605"
    name = "pool-across-streams"
    hazard = "pool-misuse"
    level = Level.WARNING
    summary = "graphs captured on different streams are given one pool"
    rows = ("G06",)
    subscribes = (CaptureEnded,)

    def __init__(self) -> None:
        self.captures: list[Capture] = []

    def on(self, event: CaptureEnded) -> Iterator[Report]:
        capture = event.capture
        if capture is None or capture.stream is None or capture.stream.label not in ("own", "capture"):
            return
        for earlier in self.captures:
            if earlier.stream is not capture.stream and share_memory(earlier, capture):
                message = (
                    "this graph gets the pool of one that was captured on another stream; "
                    "blocks belong to a stream, so nothing is shared"
                )
                chain = (earlier.place.hop, *(way_to(capture) or (capture.place.hop,)))
                yield Report(capture.place, message, chain=chain, help=HELP)
                break
        self.captures.append(capture)
