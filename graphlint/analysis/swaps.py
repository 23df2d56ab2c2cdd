"""Names that captured code exchanges: buffers that take turns in Python, but not in the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.graphs import Capture, Write
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Cell, Const, Host, Storage, Value
from graphlint.finding import Hop

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

LONGEST = 4


@dataclass(frozen=True, slots=True)
class Exchange:
    """Cells that hold, after a capture, what others of them held before it."""

    cells: tuple[Cell, ...]
    values: tuple[Value, ...]
    place: Place
    chain: tuple[Hop, ...]

    @property
    def storages(self) -> set[Storage]:
        return {tensor.storage for value in self.values for tensor in tensors_in(value)}


def times(m: Machine) -> int | None:
    """How often the loops in captured code run what is run now, None where that is not known."""
    found = 1
    for _, count in m.repetitions()[len(m.captures[-1].loops) :]:
        if count is None:
            return None
        found *= count
    return found


def exchanges(capture: Capture) -> Iterator[Exchange]:
    """The exchanges that a capture ends with, each once."""
    frames = capture.facts["frames"]
    written = {cell: write for cell, write in capture.written.items() if _stays(capture, frames, cell, write)}
    holder = {id(capture.before[cell]): cell for cell in written if _is_buffer(capture.before.get(cell))}
    seen: set[Cell] = set()
    for cell in written:
        around = _cycle(written, holder, cell)
        if len(around) > 1 and cell not in seen:
            seen.update(around)
            write = written[cell]
            yield Exchange(
                tuple(around), tuple(written[each].value for each in around), write.place, write.chain
            )


def _cycle(written: dict[Cell, Write], holder: dict[int, Cell], start: Cell) -> list[Cell]:
    """The cells from `start` on, each of which holds what the next one held; none where they do not close."""
    around, cell = [start], holder.get(id(written[start].value))
    while cell is not None and cell != start and len(around) < LONGEST:
        around.append(cell)
        cell = holder.get(id(written[cell].value))
    return around if cell == start else []


def _stays(capture: Capture, frames: tuple[Frame, ...], cell: Cell, write: Write) -> bool:
    """Whether a cell outlives the capture and was written by one statement, an odd number of times."""
    is_odd = write.times is not None and write.times % 2 == 1
    once = capture.first[cell].place.key == write.place.key and not write.conditional
    lives = not write.local or any(cell[0] == id(frame.env.fields) for frame in frames)
    return is_odd and once and lives


def _is_buffer(value: object) -> bool:
    return isinstance(value, Value) and not isinstance(value, (Const, Host))
