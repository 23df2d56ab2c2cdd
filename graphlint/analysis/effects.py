"""Host state that captured Python writes: a replay does not repeat it, and eager code may notice.

A capture's writes are kept by cell. What counts is the *first* and the *last* one of a cell: a cell that the
first write computes from its own old value (`self.step += 1`) would go on changing if Python ran again; a
cell that ends with the same value each time would be set back to it. Eager code that reads such a cell after
a replay sees what the last Python left there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from graphlint.analysis.events import SideEffect
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, Write
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, tensors_in
from graphlint.analysis.values import (
    COMPUTED,
    Cell,
    Const,
    Fields,
    Host,
    Obj,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    alternatives,
    is_none,
    same,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

ITEMS = "items"


def remember(m: Machine, capture: Capture) -> None:
    """Keep the host state that a capture wrote; called when it ends."""
    if capture.compiled:
        return
    _tell_pops(m, capture)
    for cell, write in capture.written.items():
        if _puts_back(capture, cell) or _is_of_opener(m, capture, write):
            continue
        if isinstance(write.value, (Const, Host)) or cell in capture.appended:
            m.effects[cell] = capture


def _is_of_opener(m: Machine, capture: Capture, write: Write) -> bool:
    """Whether the function that began a capture, for another one to end, notes that it did."""
    opener = capture.place.function
    return capture.kind == "capture_begin" and write.place.function == opener != m.frame.qualname


def _puts_back(capture: Capture, cell: Cell) -> bool:
    """Whether the last write gives the cell what it held before the capture, taken from the cell itself."""
    old, last = capture.before.get(cell), capture.written[cell].value
    if not isinstance(old, Value) or last is capture.first[cell].value:
        return False
    if isinstance(old, (Const, Host)):
        return cell in cells_of(last) and same(last, old)
    return last is old


def advances(capture: Capture, cell: Cell) -> bool:
    """Whether running the captured Python again would move the cell on from where it is."""
    first, last = capture.first.get(cell), capture.written.get(cell)
    return first is not None and last is not None and _is_relative(first, cell) and _is_relative(last, cell)


def _is_relative(write: Write, cell: Cell) -> bool:
    return not write.conditional and (write.augmented or cell in cells_of(write.value))


def _sets(write: Write, cell: Cell) -> bool:
    """Whether a write certainly leaves a value of its own, not one that the cell had before."""
    return not write.conditional and cell not in cells_of(write.value)


def note_append(m: Machine, owner: Sequence_, place: Place) -> None:
    """Captured code is about to add to a list that it did not make."""
    capture = m.capture
    if capture is not None and owner.serial < capture.facts.get("born", 0):
        cell = (id(owner.fields), ITEMS)
        capture.appended.setdefault(cell, bool(owner.elements()))
        if cell in capture.facts.get("taken", ()):
            _tell_queue(m, capture, cell, place)
        capture.facts.setdefault("added", {}).setdefault(cell, place)


def note_pop(m: Machine, owner: Sequence_, place: Place) -> None:
    """Captured code takes a number out of a list that it did not make."""
    capture = m.capture
    if capture is None or owner.serial >= capture.facts.get("born", 0) or capture.compiled:
        return
    if any(isinstance(part, (Const, Host)) for part in owner.elements()):
        capture.facts.setdefault("popped", []).append(((id(owner.fields), ITEMS), place))


def _tell_pops(m: Machine, capture: Capture) -> None:
    """What is put back is there for the next run; what is not was taken once, and replays stay with it."""
    added = capture.facts.get("added", {})
    for cell, place in capture.facts.get("popped", ()):
        if cell not in added:
            m.emit(SideEffect(place=place, capture=capture, name="list", read=None, reason="pop"))


def take(m: Machine, owner: Sequence_) -> None:
    """Captured code uses what was in a list before: where it also adds to it, each run would find more."""
    capture = m.capture
    if capture is None or owner.serial >= capture.facts.get("born", 0) or not _holds_older(capture, owner):
        return
    cell = (id(owner.fields), ITEMS)
    capture.facts.setdefault("taken", set()).add(cell)
    if capture.appended.get(cell):
        _tell_queue(m, capture, cell, capture.facts["added"][cell])


def _holds_older(capture: Capture, owner: Sequence_) -> bool:
    return any(t.storage.graph is not capture.graph for part in owner.elements() for t in tensors_in(part, 1))


def _tell_queue(m: Machine, capture: Capture, cell: Cell, place: Place) -> None:
    told = capture.facts.setdefault("queues", set())
    if cell not in told:
        told.add(cell)
        m.emit(SideEffect(place=place, capture=capture, name="list", read=None, reason="queue"))


def read(m: Machine, fields: Fields, key: Any, value: Value, place: Place, name: str) -> None:
    """Eager code reads a cell: tell when a replay should have changed it, and did not."""
    capture = m.effects.get((id(fields), key))
    if capture is None or m.updating or not _is_number(value):
        return
    cell = (id(fields), key)
    last = capture.written[cell]
    later = _later(m, capture, cell)
    if not _replayed_since(capture, later):
        return
    if advances(capture, cell):
        _tell(m, capture, last, name, place, "counter")
    elif later and _sets(last, cell) and _is_other_setting(last.value, value):
        _tell(m, capture, last, name, place, "setting")


def read_list(m: Machine, value: Value) -> None:
    """Eager code goes through a whole list: tell when captured code added to it only once."""
    if type(value) is not Sequence_ or m.captures:
        return
    value = m.copies.get(value.serial, value)
    cell = (id(value.fields), ITEMS)
    capture = m.effects.get(cell)
    if (
        capture is None
        or cell not in capture.appended
        or not _replayed_since(capture, _later(m, capture, cell))
    ):
        return
    # A list that holds nothing but the tensors of the capture holds outputs, which replays refresh; handles
    # and records of what was captured are meant for all replays.
    if any(_is_record(part) for part in value.elements()):
        return
    if capture.appended[cell] or not all(list(tensors_in(part, 1)) for part in value.elements()):
        _tell(m, capture, capture.written[cell], "list", None, "list")


def _is_record(value: Value) -> bool:
    """Whether a value is an object, or of a kind that is not known."""
    return any(isinstance(part, (Unknown, Obj)) for part in alternatives(value))


MOVED_ON = "moved on"


def note_advanced(m: Machine, owner: Tensor, place: Place) -> None:
    """Captured code computes a tensor on the host from its own old value: no replay will."""
    capture = m.capture
    if capture is not None and owner.device == "cpu" and owner.storage.serial < capture.facts.get("born", 0):
        capture.facts.setdefault(MOVED_ON, {}).setdefault(owner.storage, place)


def note_operands(m: Machine, operands: Iterable[Tensor], made: Value) -> None:
    """A number on the host that captured code has moved on, or one computed from it, goes into a kernel."""
    moved = m.capture.facts.get(MOVED_ON) if m.capture is not None else None
    if not moved:
        return
    places = [moved[each.storage] for each in operands if each.storage in moved]
    for tensor in tensors_in(made, 1) if places else ():
        if tensor.device == "cpu":
            moved.setdefault(tensor.storage, places[0])
        elif tensor.on_device:
            m.emit(SideEffect(place=places[0], name="tensor", read=None, reason="host-tensor"))
            del moved[next(storage for storage, place in moved.items() if place is places[0])]
            return


def note_copy(m: Machine, value: Sequence_, fresh: Sequence_) -> None:
    """`fresh` is what reading the list `value` yields."""
    if (id(value.fields), ITEMS) in m.effects:
        m.copies[fresh.serial] = value


def _is_number(value: Value) -> bool:
    return isinstance(value, (Const, Host)) or (isinstance(value, Unknown) and value.reason == COMPUTED)


def _later(m: Machine, capture: Capture, cell: Cell) -> list[Write]:
    return [w for w in m.writes.get(cell, ()) if w.clock >= capture.clock and not w.capturing]


def _replayed_since(capture: Capture, later: list[Write]) -> bool:
    """Whether the graph has been replayed since eager code last wrote the cell."""
    stamp = capture.graph.fields.get("stamp", 0) if capture.graph is not None else 0
    return bool(stamp) and (not later or later[-1].stamp < stamp)


def _is_other_setting(captured: Value, now: Value) -> bool:
    """Whether eager code has put a number or flag where the captured code leaves a different constant."""
    if not isinstance(captured, Const) or is_none(now):
        return False
    if captured.value is None:
        return True
    one, other = identity_of(captured), identity_of(now)
    return isinstance(now, Const) and one is not None and other is not None and one != other


def _tell(m: Machine, capture: Capture, write: Write, name: str, place: Place | None, reason: str) -> None:
    m.emit(
        SideEffect(
            place=write.place, chain=write.chain, capture=capture, name=name, read=place, reason=reason
        )
    )


def taint_elements(m: Machine, value: Sequence_, cell: Cell) -> bool:
    """Captured code reads a cell: whether it holds a list of host numbers, which remember the cell then."""
    numbers = [part for part in value.elements() if isinstance(part, (Const, Host))]
    if not numbers or len(numbers) < len(value.elements()):
        return False
    m.sequence_cells.setdefault(value.serial, set()).add(cell)
    return True


def cells_in(m: Machine, value: Value) -> frozenset[Cell]:
    """The cells that a host value, or a list that captured code read, came from."""
    own = m.sequence_cells.get(value.serial, ()) if isinstance(value, Sequence_) and m.captures else ()
    return cells_of(value) | frozenset(own)


def tainted_element(m: Machine, owner: Sequence_, value: Value) -> Value:
    """An element as captured code gets it out of a list that came from a cell."""
    cells = m.sequence_cells.get(owner.serial)
    if not cells or not m.captures:
        return value
    if isinstance(value, Const):
        return Const(value.value, value.cells | cells)
    if isinstance(value, Host):
        return Host(value.kind, value.change, value.symbol, value.cells | cells)
    return value
