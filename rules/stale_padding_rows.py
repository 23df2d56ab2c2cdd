"""CG109: rows behind those that are filled keep an older batch, and a result is made of all."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import rows, table_conditions
from graphlint.analysis.events import Called, CaptureEnded, Replay
from graphlint.analysis.graphs import Capture
from graphlint.analysis.rows import Mixing
from graphlint.analysis.values import SliceValue, Storage, Tensor, Value, is_none
from graphlint.facts import nodes as ast
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
        self.partly: dict[tuple[Storage, int], Called] = {}
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
            depth = _fills_the_first_of(event)
            if depth is not None:
                self.partly[event.target.storage, depth] = event
            else:
                self.wholly.add(event.target.storage)

    def _judge(self, recorded: Capture) -> Iterator[Report]:
        """What else goes into the sum may be a mask, when all of it is written in every step."""
        for mixing in self.mixings.get(id(recorded), ()):
            if any(storage in self.wholly for storage, _ in mixing.origins | mixing.beside):
                continue
            for written in sorted(mixing.origins & self.partly.keys(), key=lambda each: each[0].serial):
                yield _stale(self.partly.pop(written), mixing)


def _stale(write: Called, mixing: Mixing) -> Report:
    message = "the rows behind these keep an older batch, and captured code makes one result of all rows"
    chain = (mixing.place.hop, write.place.hop)
    return Report(write.place, message, Confidence.LIKELY, chain=chain, help=HELP)


def _fills_the_first_of(event: Called) -> int | None:
    """The dimension of which only the first entries are written: 0 for `buffer[:n]`, 1 for `buffer[:, :n]`.

    The number of entries is one that the program computes. None for every other write.
    """
    node, target = event.place.node, event.target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return _cut_in_text(node.targets[0].slice)
    index = target.part if isinstance(target, Tensor) else None
    return (
        _cut_at([_is_cut(part) for part in table_conditions.parts_of(index)]) if index is not None else None
    )


def _cut_in_text(index: ast.expr) -> int | None:
    return _cut_at(
        [_is_cut_in_text(part) for part in (index.elts if isinstance(index, ast.Tuple) else [index])]
    )


def _cut_at(parts: list[bool | None]) -> int | None:
    """The position of the one part that cuts among others that take all; None for anything else."""
    return parts.index(True) if parts.count(True) == 1 and None not in parts else None


def _is_cut(part: Value) -> bool | None:
    """Whether a part of an index takes the first entries (True) or all (False); None for others."""
    if not isinstance(part, SliceValue) or not is_none(part.lower):
        return None
    return not is_none(part.upper)


def _is_cut_in_text(part: ast.expr) -> bool | None:
    if not isinstance(part, ast.Slice) or part.lower is not None:
        return None
    return part.upper is not None
