"""Work that a flag guards and the first call does: `if not self.ready: self.sums.zero_(); self.ready = True`.

When the first call is the captured one, every replay does the work again. That is told where it undoes what
the replays add up in the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis import generators
from graphlint.analysis.events import SideEffect
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, Write
from graphlint.analysis.values import Cell, Const, Storage, Tensor
from graphlint.facts import nodes as ast
from graphlint.finding import Hop

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

WRITES = "writes in place"


@dataclass(frozen=True, slots=True)
class InPlace:
    """Captured code has written memory that was there before."""

    storage: Storage
    place: Place
    chain: tuple[Hop, ...]
    adds: bool


def note_write(m: Machine, owner: Tensor, place: Place, *, accumulates: bool) -> None:
    """Captured code writes a tensor in place."""
    capture = m.captures[-1]
    if owner.on_device and owner.storage.graph is None and not capture.compiled:
        written = InPlace(owner.storage, place, m.chain(place), accumulates)
        capture.facts.setdefault(WRITES, []).append(written)


def replayed(m: Machine, record: Capture) -> None:
    """A graph is replayed: tell of what the captured call has done because it was the first one."""
    again = record.graph is not None and record.graph.fields.get("stamp", 0) >= 2
    written: list[InPlace] = record.facts.pop(WRITES, []) if again else []
    for cell, write in record.written.items() if written else ():
        if _is_turned_for_good(m, record, cell, write):
            for each in _guarded(written, write):
                if _is_undone(each, written):
                    _tell(m, record, each, str(cell[1]))


def _tell(m: Machine, capture: Capture, work: InPlace, name: str) -> None:
    event = SideEffect(place=work.place, chain=work.chain, name=name, read=None, reason="first")
    event.capture = capture
    m.emit(event)


def _is_undone(work: InPlace, written: list[InPlace]) -> bool:
    """Whether work sets memory anew that other captured code adds to."""
    adding = (each.place.key for each in written if each.storage is work.storage and each.adds)
    return not work.adds and any(key != work.place.key for key in adding)


def _is_turned_for_good(m: Machine, capture: Capture, cell: Cell, write: Write) -> bool:
    """Whether captured code has turned a flag that nobody but constructors has set so far."""
    read = capture.host_reads.get(cell)
    before = read.value.value if read is not None and isinstance(read.value, Const) else None
    turned = isinstance(before, bool) and isinstance(write.value, Const) and write.value.value is not before
    others = (w for w in m.writes.get(cell, ()) if not w.capturing)
    return turned and all(w.by_constructor for w in others)


def _guarded(written: list[InPlace], write: Write) -> list[InPlace]:
    """The writes in place that the same arm of an `if` has led to."""
    arm = _arm_around(write)
    return [each for each in written if any(h.line in arm for h in each.chain if _is_beside(h, write))]


def _is_beside(hop: Hop, write: Write) -> bool:
    return hop.function == write.place.function and hop.path == write.place.hop.path


def _arm_around(write: Write) -> range:
    """The lines of the innermost arm that a write stands in."""
    found = range(0)
    for function in write.place.module.definitions(write.place.function):
        for node in generators.own_nodes(function):
            for body in (node.body, node.orelse) if isinstance(node, ast.If) else ():
                if any(write.place.node is part for part in body):
                    found = range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1)
    return found
