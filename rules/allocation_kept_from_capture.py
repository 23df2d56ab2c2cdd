"""CG603: a lazy cache is first filled inside a capture, with memory of the graph."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Allocated, CaptureEnded
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Const
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "fill the cache before the capture: allocate it in the constructor, or call the code once to warm up"


class AllocationKeptFromCapture(Rule):
    code = "CG603"
    name = "allocation-kept-from-capture"
    hazard = "alloc-in-capture"
    level = Level.ERROR
    summary = "a lazy cache is first filled inside a capture, with memory of the graph"
    rows = ("D12",)
    subscribes = (Allocated, CaptureEnded)

    def __init__(self) -> None:
        self.unguarded: list[Allocated] = []

    def on(self, event: Allocated | CaptureEnded) -> Iterator[Report]:
        if isinstance(event, CaptureEnded):
            kept, self.unguarded = self.unguarded, []
            for stored in kept:
                if event.capture is stored.capture and _flag_is_set(stored):
                    yield from _report(stored)
        elif event.guarded:
            yield from _report(event)
        else:
            self.unguarded.append(event)


def _report(event: Allocated) -> Iterator[Report]:
    message = (
        "this is first filled inside a capture: the tensor belongs to the graph, "
        "and holds nothing until a replay has run"
    )
    yield Report(event.stored, message, Confidence.LIKELY, chain=event.chain, help=HELP)


def _flag_is_set(event: Allocated) -> bool:
    """Whether the function that stores also turns a flag that captured code had read: it runs once only."""
    capture = event.capture
    if capture is None:
        return False
    return any(
        write.place.path == event.stored.path
        and write.place.function == event.stored.function
        and isinstance(write.value, Const)
        and _was_opposite(capture, cell, write.value.value)
        for cell, write in capture.written.items()
    )


def _was_opposite(capture: Capture, cell: tuple[int, object], value: object) -> bool:
    read = capture.host_reads.get(cell)
    before = read.value.value if read is not None and isinstance(read.value, Const) else None
    return isinstance(before, bool) and isinstance(value, bool) and before is not value
