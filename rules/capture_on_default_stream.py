"""CG509: `capture_begin` is called on the default stream."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphlint.analysis.events import CaptureStarted
from graphlint.analysis.frames import Frame
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
        elif any(_has_left_a_stream(frame) for frame in capture.facts["frames"]):
            message += ", and the side stream of the warm-up has been left"
            yield Report(event.place, message, Confidence.LIKELY, chain=way_to(capture), help=HELP)


def _has_left_a_stream(frame: Frame) -> bool:
    """Whether a call has run work on a side stream before, so that it is itself on the default one."""
    if frame.function is None or frame.statement is None:
        return False
    now = getattr(frame.statement, "lineno", 0)
    return any(ended is not None and ended < now for ended in _ends_of_streams(frame.function.node))


@per_node
def _ends_of_streams(node: ast.AST) -> tuple[int | None, ...]:
    """The last lines of what a function runs in `with torch.cuda.stream(...)`."""
    contexts = [
        (each, item.context_expr) for each in walk(node) if isinstance(each, ast.With) for item in each.items
    ]
    return tuple(
        each.end_lineno
        for each, entered in contexts
        if isinstance(entered, ast.Call) and ast.unparse(entered.func) == "torch.cuda.stream"
    )
