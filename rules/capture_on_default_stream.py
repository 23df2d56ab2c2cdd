"""CG509: `capture_begin` is called on the default stream."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import CaptureStarted
from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import walk
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import way_to

HELP = "begin and end the capture inside `with torch.cuda.stream(torch.cuda.Stream()):`"

# Captures that a call begins on the stream that is current, or on its own.
BY_HAND = ("capture_begin", "begin_capture")


class CaptureOnDefaultStream(Rule):
    code = "CG509"
    name = "capture-on-default-stream"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "`capture_begin` is called on the default stream"
    rows = ("E09",)
    subscribes = (CaptureStarted,)

    def on(self, event: CaptureStarted) -> Iterator[Report]:
        capture = event.capture
        if capture is None or capture.kind not in BY_HAND or capture.stream is None:
            return
        if capture.stream.label != "default":
            return
        message = "a capture cannot begin on the default stream"
        if capture.facts["script"]:
            yield Report(event.place, message, chain=way_to(capture), help=HELP)
        elif _has_left_its_streams(capture):
            message += ", and the side stream of the warm-up has been left"
            yield Report(event.place, message, Confidence.LIKELY, chain=way_to(capture), help=HELP)


def _has_left_its_streams(capture: Capture) -> bool:
    """Whether the calls in progress have left side streams, and nothing else in the file enters one."""
    left = [end for frame in capture.facts["frames"] for end in _left(frame)]
    return bool(left) and len(left) == len(_ends_of_streams(capture.place.module.tree))


def _left(frame: Frame) -> list[int]:
    """Where a call has left side streams before what it runs now."""
    ends = _ends_of_streams(frame.function.node) if frame.function is not None else ()
    return [end for end in ends if end < getattr(frame.statement, "lineno", 0)]


@per_node
def _ends_of_streams(node: ast.AST) -> tuple[int, ...]:
    """The last lines of what is run in `with torch.cuda.stream(...)`."""
    contexts = [
        (each, i.context_expr) for each in walk(node) if isinstance(each, ast.With) for i in each.items
    ]
    return tuple(
        each.end_lineno or each.lineno
        for each, entered in contexts
        if isinstance(entered, ast.Call) and ast.unparse(entered.func) == "torch.cuda.stream"
    )
