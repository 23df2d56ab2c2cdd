"""CG703: a backward pass is captured while an eager one on the default stream is still held."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, CaptureStarted
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Obj, Sequence_, Storage, Tensor, Value
from graphlint.finding import Confidence, Hop, Level
from graphlint.rules.rule import Report, Rule

HELP = "warm up on a side stream that waits for the current one, or drop what the eager pass returned"


class WarmupOnDefaultStream(Rule):
    code = "CG703"
    name = "warmup-on-default-stream"
    hazard = "missing-warmup"
    level = Level.ERROR
    summary = "a backward pass is captured while an eager one on the default stream is still held"
    rows = ("E05", "I07")
    subscribes = (Called, CaptureStarted)

    def __init__(self) -> None:
        self.eager: dict[Storage, Hop] = {}
        self.held: dict[int, Hop] = {}

    def on(self, event: Called | CaptureStarted) -> Iterator[Report]:
        capture = event.capture
        if isinstance(event, CaptureStarted):
            if capture is not None and capture.by_program and capture.kind != "make_graphed_callables":
                kept = next((self.eager[each] for each in _held(capture) if each in self.eager), None)
                if kept is not None:
                    self.held[id(capture)] = kept
        elif event.what == "backward":
            if capture is None:
                self._note(event)
            elif id(capture) in self.held:
                hop = self.held.pop(id(capture))
                message = (
                    "this backward pass meets gradient accumulators that an eager pass on the default stream "
                    "has made, and that are still alive"
                )
                chain = (hop, *event.chain)
                yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)

    def _note(self, event: Called) -> None:
        if isinstance(event.target, Tensor) and event.target.storage.stream is None:
            self.eager[event.target.storage] = event.place.hop


def _held(capture: Capture) -> Iterator[Storage]:
    """The memory that names of the calls in progress, and their objects, hold when a capture begins."""
    for frame in capture.facts["frames"]:
        for value in frame.env.fields.values():
            if isinstance(value, Value):
                yield from (tensor.storage for tensor in tensors_in(value, 1))
            if isinstance(value, Obj):
                kept = (field for field in value.fields.values() if isinstance(field, (Tensor, Sequence_)))
                held = (tensor for field in kept for tensor in tensors_in(field, 1))
                yield from (tensor.storage for tensor in held if tensor.trained)
