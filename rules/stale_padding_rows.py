"""CG109: rows behind those that are filled keep an older batch, and a result is made of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphlint.analysis import rows
from graphlint.analysis.events import Called, CaptureEnded, Replay
from graphlint.analysis.graphs import Capture
from graphlint.analysis.rows import Mixing
from graphlint.analysis.values import SliceValue, Storage, Tensor, is_none
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "fill the rest with a value that does no harm, for example `buffer[n:].zero_()`"


class StalePaddingRows(Rule):
    code = "CG109"
    name = "stale-padding-rows"
    hazard = "other"
    level = Level.WARNING
    summary = "rows behind those that are filled keep an older batch, and a result is made of all"
    rows = ("A06",)
    subscribes = (CaptureEnded, Called, Replay)

    def __init__(self) -> None:
        self.mixings: dict[int, list[Mixing]] = {}
        self.partly: dict[Storage, Called] = {}
        self.wholly: set[Storage] = set()

    def on(self, event: CaptureEnded | Called | Replay) -> Iterator[Report]:
        if isinstance(event, CaptureEnded):
            if event.capture is not None:
                self.mixings[id(event.capture)] = rows.of_capture(event.capture)
            self.partly, self.wholly = {}, set()
        elif isinstance(event, Replay):
            yield from self._judge(event.recorded)
            self.partly, self.wholly = {}, set()
        elif event.what == "tensor-write" and event.capture is None and isinstance(event.target, Tensor):
            if _fills_the_first(event):
                self.partly[event.target.storage] = event
            else:
                self.wholly.add(event.target.storage)

    def _judge(self, recorded: Capture) -> Iterator[Report]:
        """What else goes into the sum may be a mask, when all of it is written in every step."""
        for mixing in self.mixings.get(id(recorded), ()):
            if mixing.origins & self.wholly:
                continue
            for storage in sorted(mixing.origins & self.partly.keys(), key=lambda each: each.serial):
                yield _stale(self.partly.pop(storage), mixing)


def _stale(write: Called, mixing: Mixing) -> Report:
    message = "the rows behind these keep an older batch, and captured code makes one result of all rows"
    chain = (mixing.place.hop, write.place.hop)
    return Report(write.place, message, Confidence.LIKELY, chain=chain, help=HELP)


def _fills_the_first(event: Called) -> bool:
    """Whether only `buffer[:n]` is written, with a number of rows that the program computes."""
    node, target = event.place.node, event.target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        part = node.targets[0].slice
        return isinstance(part, ast.Slice) and part.lower is None and part.upper is not None
    index = target.part if isinstance(target, Tensor) else None
    return isinstance(index, SliceValue) and is_none(index.lower) and not is_none(index.upper)
