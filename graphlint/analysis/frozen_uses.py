"""Host values that a capture has used, and that are no longer what they were when it is replayed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.analysis import (
    brought,
    counters,
    displaced,
    effects,
    graph_keys,
    pinned_numbers,
    renewals,
    requests,
    tensor_ops,
    transformed,
    unchanged,
    walked,
)
from graphlint.analysis.events import (
    FrozenUse,
)
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import (
    Capture,
    HostUse,
    Write,
    is_other_number,
    names_other_memory,
    value_in,
)
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.values import (
    CONTENT,
    DRAWN,
    MODE,
    Cell,
    Change,
    Const,
    Env,
    Host,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    same,
)
from graphlint.facts import nodes as ast
from graphlint.finding import Level

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def tell(m: Machine, record: Capture, place: Place) -> None:
    """Host numbers in the graph whose cells have been given other values since."""
    reported: set[tuple[str, int, int]] = set()
    for use in record.host_uses:
        spot = _spot(use)
        if spot in reported or _is_own_key(record, use):
            continue
        written = _written_cell(m, record, use)
        if _is_flag(record, use):
            if written is None or change_of(written.value) is not Change.CHANGING:
                written = _switched(m, record, use) or requests.ignored(m, record, use)
                written = written or transformed.write_of(m, record, use)
            if written is None and not brought.otherwise(m, record, use):
                continue  # programs turn flags around their captures; what a call brings is another matter
        else:
            written = written or _advanced_cell(m, record, use) or displaced.number(m, record, use)
        if written is not None or _is_left_behind(m, record, use) or brought.otherwise(m, record, use):
            reported.add(spot)
            _tell_frozen(m, record, use, written)
    for use, written in (*walked.added_to(m, record), *walked.replaced(m, record)):
        _tell_frozen(m, record, use, written)


def _is_own_key(record: Capture, use: HostUse) -> bool:
    """Whether a number is the one that a table keeps the graph by: whoever replays it has asked for that."""
    keys: set[object] | None = record.graph.fields.get("keys") if record.graph is not None else None
    return keys is not None and identity_of(use.value) in keys


def _tell_frozen(m: Machine, record: Capture, use: HostUse, written: Write | None) -> None:
    certainty = use.certainty
    if written is None and graph_keys.keys_of(record):
        certainty = replace(certainty, level=Level.WARNING)  # what the key is made of may not be known
    event = FrozenUse(place=use.place, chain=use.chain, capture=record, certainty=certainty, use=use)
    event.written = written.place if written is not None else None
    m.emit(event)


def _is_flag(record: Capture, use: HostUse) -> bool:
    """Whether a test asks a flag, not a number that it compares."""
    read = [part for cell in use.cells & record.host_reads.keys() for part in _values_at(record, cell)]
    return use.use == "flag" or (use.use == "branch" and any(isinstance(value, bool) for value in read))


def _values_at(record: Capture, cell: Cell) -> list[object]:
    return [p.value for p in alternatives(record.host_reads[cell].value) if isinstance(p, Const)]


def _switched(m: Machine, record: Capture, use: HostUse) -> Write | None:
    """The write that switched a flag in a later step, under a test of what that step brought."""
    for cell in use.cells & record.host_reads.keys():
        for write in reversed(renewals.writes_since(m, record, cell)):
            later = write.step > record.step and write.place.function != record.place.function
            if write.brought and later and not same(write.value, use.value):
                return write
    return None


def _spot(use: HostUse) -> tuple[str, int, int]:
    """What one report stands for: a test is one, however many of its operands are frozen."""
    path, line, column = use.place.key
    return (path, line, -1 if use.use in ("branch", "flag") else column)


def _content_stands(record: Capture, use: HostUse) -> bool:
    """Whether a number was read from host memory that nobody has written or replaced since."""
    storages = [record.contents[serial] for serial, key in use.cells if key == CONTENT]
    if not storages or any(storage.version != version for storage, version in storages):
        return False
    held = {storage for storage, _ in storages}
    reads = [r for r in record.host_memory.values() if any(t.storage in held for t in tensors_in(r.value, 1))]
    now = [(read, value_in(read.fields, read.key)) for read in reads]
    return not any(names_other_memory(read.value, value)[0] for read, value in now if value is not None)


def _is_left_behind(m: Machine, record: Capture, use: HostUse) -> bool:
    """Whether a changing argument was recorded in an earlier step, and nothing keys the graph by it.

    A number that the captured code itself has drawn is left behind by the first replay.
    """
    if any(key == DRAWN for _, key in use.cells):
        return True
    is_changing = change_of(use.value) is Change.CHANGING
    if not is_changing or m.step <= record.step or tensor_ops.is_key(graph_keys.keys_of(record), use.value):
        return False
    if record.graph is not None and record.graph.fields.get("open key"):
        return False
    if unchanged.is_same_turn(m, record) or unchanged.is_argument(m, record, use.value):
        return False
    return not (_still_stands(m, record, use) or _content_stands(record, use))


def _still_stands(m: Machine, record: Capture, use: HostUse) -> bool:
    """Whether what changes about a number is in a cell that nobody has written since the capture."""
    reads = {cell: record.host_reads[cell] for cell in use.cells if cell in record.host_reads}
    return any(
        change_of(read.value) is Change.CHANGING
        and (value_in(read.fields, read.key) is read.value or not renewals.writes_since(m, record, cell))
        for cell, read in reads.items()
    )


def _written_cell(m: Machine, record: Capture, use: HostUse) -> Write | None:
    for cell in use.cells:
        read = record.host_reads.get(cell)
        if read is None:
            continue
        now = value_in(read.fields, read.key)
        if (
            now is None
            or not _is_number(now)
            or not _is_number(read.value)
            or not is_other_number(read.value, now)
            or pinned_numbers.stands(m, read.value, now)
            or graph_keys.is_chosen_by(m, record, read.value, now)
        ):
            continue
        writes = [w for w in renewals.writes_since(m, record, cell) if not isinstance(w.value, Tensor)]
        if isinstance(use.value, Const) and use.use == "branch":
            otherwise = counters.will_answer_otherwise(use, read, cell, writes)
            writes = writes if otherwise or (otherwise is None and _is_measured(read.value, now)) else []
        if isinstance(read.owner, Env):
            writes = [w for w in writes if _is_of_this_graph(record, w)]
        writes = [] if displaced.names_each_turn(m, record, cell) else writes
        if cell[1] == MODE:
            writes = [w for w in writes if _is_running(m, w.place)]
        if writes:
            return writes[-1]
    return None


def _is_of_this_graph(record: Capture, write: Write) -> bool:
    """Whether a local of the capturing function changes for a graph that is not one of several."""
    kept = record.graph is not None and record.graph.fields.get("keys") is not None
    return not kept and isinstance(write.place.node, (ast.Assign, ast.AugAssign, ast.AnnAssign))


def _advanced_cell(m: Machine, record: Capture, use: HostUse) -> Write | None:
    """The write by which the captured code itself moves on a number that it uses (`self.length += 1`)."""
    for cell in use.cells:
        if effects.advances(record, cell) and not renewals.writes_since(m, record, cell):
            return record.written[cell]
    return None


def _is_measured(then: Value, now: Value) -> bool:
    """Whether a number, or a choice, is taken from each call anew, unlike a flag that is set and cleared."""
    if not isinstance(then, Const) or isinstance(then.value, bool):
        return False
    among = alternatives(now) if isinstance(then.value, str) else (now,)
    brought = [p for p in among if isinstance(p, Host) and p.change is Change.CHANGING and p.kind != "bool"]
    return bool(brought) and isinstance(then.value, (int, float, str))


def _is_running(m: Machine, place: Place) -> bool:
    """Whether the function of a place has not returned: what it set up is meant for what follows in it."""
    return any(f.qualname == place.function and f.module is place.module for f in m.frames)


def _is_number(value: object) -> bool:
    if isinstance(value, Union):
        return all(_is_number(part) for part in value.values)
    if isinstance(value, Const):
        return value.value is not None
    if isinstance(value, Sequence_):
        return True
    return isinstance(value, (Host, Unknown))
