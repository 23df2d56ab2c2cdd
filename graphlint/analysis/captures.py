"""Starting, ending and replaying captures: the life of a graph on abstract values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import (
    carried,
    counters,
    derived,
    displaced,
    effects,
    handed,
    host_work,
    ignored,
    late_changes,
    orphans,
    parallel,
    renamed,
    renewals,
    requests,
    streams,
    tensor_ops,
    timeline,
    walked,
)
from graphlint.analysis.events import (
    CaptureEnded,
    CaptureStarted,
    FrozenUse,
    Replay,
    ReplayInCapture,
)
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import (
    Capture,
    Changed,
    HostUse,
    Read,
    Write,
    holds_other_memory,
    is_other_number,
    names_other_memory,
    share_memory,
    value_in,
)
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries import autograd
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.values import (
    CONTENT,
    DRAWN,
    MODE,
    Cell,
    Change,
    Const,
    Env,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join_all,
    now,
    same,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def start(
    m: Machine,
    kind: str,
    place: Place,
    graph: Obj,
    *,
    stream: Obj | None = None,
    pool: Value | None = None,
    mode: str = "global",
    compiled: bool = False,
    told: bool = True,
) -> Capture:
    """Open a capture on `stream` (the one that all captures without a stream share when None)."""
    m.clock += 1
    capture = Capture(kind, place, m.chain(place)[:-1] if m.captures else (), graph)
    capture.stream = stream or m.capture_stream
    capture.loops = tuple((loop, loop.iteration) for frame in m.frames for loop in frame.loops)
    capture.pool, capture.mode, capture.compiled = pool, mode, compiled
    capture.depth, capture.clock, capture.step = len(m.frames) - 1, m.clock, m.step
    capture.serial = now()
    capture.facts["conditions"] = len(m.frame.conditions)
    capture.facts["outer"] = m.captures[-1] if m.captures else None
    capture.facts["contexts"] = tuple(m.contexts)
    capture.facts["frames"] = tuple(m.frames)
    capture.facts["thread"] = m.running[-1] if m.running else None
    capture.facts["threads"] = tuple(parallel.others_running(m))
    capture.facts["loaders"] = tuple(parallel.pinning_loaders(m))
    capture.facts["locks"] = parallel.held_locks(m)
    parallel.note_cuda_call(m)
    timeline.started(m)
    capture.keys = _keys(m)
    renewals.note_tests(m, capture)
    capture.facts["script"] = m.script
    capture.lazy = any(frame.conditions for frame in m.frames)
    capture.facts["anomaly"] = autograd.detects_anomalies(m)
    capture.facts["repetitions"] = m.repetitions()
    capture.facts["born"] = Unknown("values made from here on are the capture's own").serial
    if told:
        m.emit(CaptureStarted(place=place, capture=capture))
    m.captures.append(capture)
    m.has_graphs = True
    m.budget.captured = m.steps
    m.streams.append(capture.stream)
    return capture


def _keys(m: Machine) -> set[object]:
    """The host values that choose which graph is captured: keys of membership tests on the way here."""
    keys: set[object] = set()
    for frame in m.frames:
        for condition in frame.conditions:
            keys |= _identities(condition.value)
    return keys


def _identities(value: Value) -> set[object]:
    """The host identities that a value was made of: of a test those of its key, of a record its fields'."""
    found: set[object] = set()
    if isinstance(value, Sequence_):
        for element in value.elements():
            found |= _identities(element)
    stack: list[object] = [identity_of(value)]
    for part in alternatives(value):
        if isinstance(part, Obj) and not isinstance(part.cls, str):
            stack.extend(identity_of(held) for held in part.fields.values() if isinstance(held, Host))
    while stack:
        identity = stack.pop()
        if isinstance(identity, tuple):
            if len(identity) == 2 and identity[0] == "host":
                found.add(identity)
            stack.extend(identity)
    return found


def note_keyed(m: Machine, value: Value, key: Value | None) -> None:
    """A graph is put into a container: it stands for the key, or for the iteration of the loops around."""
    held = held_graphs(value)
    if not held:
        return
    keys = _identities(key) if key is not None else set()
    if key is None:
        for frame in m.frames:
            for loop in frame.loops:
                keys |= _identities(loop.current) if loop.current is not None else set()
    for graph in held:
        graph.fields.setdefault("keys", set()).update(keys)
        graph.fields["open key"] = graph.fields.get("open key", False) or (key is not None and _is_open(key))


def _is_open(key: Value) -> bool:
    """Whether a key changes with the calls and its parts are not known: any number may be out of it."""
    parts = alternatives(key)
    if any(isinstance(part, Sequence_) and (part.rest is not None or _is_open_tuple(part)) for part in parts):
        return change_of(key) is Change.CHANGING
    return any(isinstance(part, Unknown) and part.change is Change.CHANGING for part in parts)


def _is_open_tuple(key: Sequence_) -> bool:
    return any(_is_open(part) for part in key.items)


def has_entry_for(m: Machine, where: Value, item: Value) -> bool:
    """Whether a table has an entry for a size that comes with a call, if a graph of that size is replayed.

    The table holds no graphs itself, and was filled for the configured sizes that graphs are kept by.
    """
    if not isinstance(where, Mapping) or change_of(item) < Change.SHAPE:
        return False
    sizes = {key for capture in m.finished if capture.step < m.step for key in keys_of(capture)}
    filled = [change_of(key) < Change.SHAPE and not held_graphs(held) for key, held in where.entries()]
    return bool(filled) and all(filled) and all(_identities(key) & sizes for key, _ in where.entries())


def held_graphs(value: Value, depth: int = 2) -> list[Obj]:
    """The graphs that a value is, or holds in its fields or items."""
    if isinstance(value, Obj):
        if value.cls == "torch.cuda.CUDAGraph":
            return [value]
        parts = [v for v in value.fields.values() if isinstance(v, Value)] if depth else []
    elif isinstance(value, Function):
        parts = [v for v in value.env.fields.values() if isinstance(v, Value)] if value.env and depth else []
    elif isinstance(value, (Sequence_, Union)):
        parts = list(value.elements() if isinstance(value, Sequence_) else value.values)
    else:
        return []
    return [graph for part in parts for graph in held_graphs(part, depth - 1)] if depth else []


def end(m: Machine, place: Place, *, told: bool = True) -> Capture | None:
    """Close the innermost capture; its graph can be replayed from now on."""
    if not m.captures:
        return None
    streams.end(m, m.captures[-1])
    capture = m.captures.pop()
    if m.streams:
        m.streams.pop()
    capture.ended = True
    capture.facts["ended"] = m.steps
    m.clock += 1
    capture.clock = m.clock
    assert capture.graph is not None
    graph = capture.graph
    m.heap.write(graph.fields, "record", capture)
    m.finished.append(capture)
    effects.remember(m, capture)
    if not capture.compiled:
        _remember_filled(m, capture)
    if told:
        m.emit(CaptureEnded(place=place, capture=capture))
    return capture


class Alternatives:
    """Keeps apart what alternatives open: only one of them happens, so that one end closes it.

    A capture that one alternative ended is taken to be ended for those after it as well.
    """

    def __init__(self, m: Machine) -> None:
        self._m = m
        self._before = list(m.captures), list(m.streams)
        self._chosen: tuple[list[Capture], list[Obj]] | None = None
        self._chosen_goes_on = False

    def next(self, goes_on: bool = True) -> None:
        """An alternative is through: undo what it opened, unless nothing is open that was not before."""
        m, (captures, streams) = self._m, self._before
        if len(m.captures) <= len(captures):
            return
        if self._chosen is None or (goes_on and not self._chosen_goes_on):
            self._chosen, self._chosen_goes_on = (list(m.captures), list(m.streams)), goes_on
        m.captures[:], m.streams[:] = captures, streams

    def join(self) -> None:
        """All are through: what the first one opened that goes on is open now."""
        if self._chosen is not None:
            self._m.captures[:], self._m.streams[:] = self._chosen


def abandon(m: Machine, depth: int) -> None:
    """Leave captures that stay open: what is run next is no part of them."""
    while len(m.captures) > depth:
        m.finished.append(m.captures.pop())
        if m.streams:
            m.streams.pop()


def _remember_filled(m: Machine, capture: Capture) -> None:
    """Cells that hold tensors of the graph's pool now: eager code expects replays to refresh them."""
    for cell, write in capture.written.items():
        if any(t.storage.graph is capture.graph for t in tensors_in(write.value, 1)):
            m.filled[cell] = capture


def replay_on(m: Machine, graph: Obj, place: Place, stream: Obj | None) -> None:
    """Replay a graph on a stream; on the current one when none is given."""
    if stream is not None:
        m.streams.append(stream)
    replay(m, graph, place)
    if stream is not None:
        m.streams.pop()


def replay(m: Machine, graph: Obj, place: Place, among: Sequence[Obj] = ()) -> None:
    """Replay a graph: its outputs get a new generation, what it read is compared with what is named now.

    `among` are the graphs that the replayed name may stand for, where several may.
    """
    if m.captures:
        m.emit(ReplayInCapture(place=place, graph=graph))
        return
    m.replays += 1
    m.own_replays += not m.running
    m.budget.captured = m.steps
    handed.replayed(m, graph, place)
    m.heap.write(graph.fields, "stamp", graph.fields.get("stamp", 0) + 1)
    calls = [frame.call for frame in reversed(m.frames) if frame.call is not None]
    m.heap.write(graph.fields, "replayed", (place, *calls))
    record = graph.fields.get("record")
    if not isinstance(record, Capture):
        return
    record.replayed.add(place.hop)
    record.renewed = renewals.renewal(record, among)
    compared = (_compare(m, record, read) for read in record.reads.values())
    changed = (*(each for each in compared if each is not None), *renamed.changed(m, record))
    m.emit(Replay(place=place, graph=graph, recorded=record, changed=changed, capture=record, step=m.step))
    timeline.replayed(m, record, place)
    _frozen_uses(m, record, place)
    carried.replayed(m, record, place)
    derived.replayed(m, record, place)
    host_work.replayed(m, record)
    ignored.replayed(m, record, place)
    late_changes.replayed(m, record, place, {id(each.read) for each in changed})
    _overwrite_pool(m, record, place)


def _overwrite_pool(m: Machine, record: Capture, place: Place) -> None:
    """The temporaries of a graph lie where graphs captured later into its pool have put their outputs."""
    for other in m.finished:
        if other.graph is None or other.graph is record.graph or other.clock <= record.clock:
            continue
        if share_memory(record, other) and other.graph.fields.get("record") is other:
            mark = (other.graph.fields.get("stamp", 0), m.step, place)
            m.heap.write(other.graph.fields, "overwritten", mark)


def _compare(m: Machine, record: Capture, read: Read) -> Changed | None:
    if read.key == Mapping.ANY and (changed := _all_replaced(m, record, read)) is not None:
        return changed
    found = _compare_cell(m, record, read) or _overwritten(m, record, read)
    return found or orphans.changed(m, record, read)


def _all_replaced(m: Machine, record: Capture, read: Read) -> Changed | None:
    """A read by an unknown key: nothing that it may have found is still in the mapping."""
    assert isinstance(read.owner, Mapping)
    now = join_all(value for _, value in read.owner.entries())
    _, certainly = names_other_memory(read.value, now)
    writes = [w for key in read.fields for w in renewals.writes_since(m, record, (id(read.fields), key))]
    return Changed(read, now, writes, False) if certainly and writes else None


def _overwritten(m: Machine, record: Capture, read: Read) -> Changed | None:
    """A store by an unknown key may have replaced what captured code found in a mapping."""
    if not isinstance(read.owner, Mapping):
        return None
    for write in renewals.writes_since(m, record, (id(read.fields), Mapping.ANY)):
        if names_other_memory(read.value, write.value)[0]:
            return Changed(read, write.value, [write], False)
    return None


def _compare_cell(m: Machine, record: Capture, read: Read) -> Changed | None:
    now = value_in(read.fields, read.key)
    if now is None or now is read.value:
        return None
    possibly, certainly = holds_other_memory(record, read.value, now)
    if not possibly:
        return None
    if (read.owner is None or not certainly) and _serves_another(m, record, read, now):
        return None
    writes = _refills_left_out(renewals.writes_since(m, record, (id(read.fields), read.key)))
    return Changed(read, now, writes, certainly) if writes else None


def _refills_left_out(writes: list[Write]) -> list[Write]:
    """Writes that fill the cell only where it is empty do not happen, unless something emptied it."""
    emptied = any(is_none(part) for w in writes for part in alternatives(w.value))
    return writes if emptied else [w for w in writes if not w.filling]


def _serves_another(m: Machine, record: Capture, read: Read, now: Value) -> bool:
    """Whether the name was bound anew for another capture, which reads what it names now.

    In a loop that captures, a name belongs to the graph of its iteration. A field that may name other
    memory has been given it together with a capture that may have taken this one's place, or still names
    what an earlier one reads, where this one never happened.
    """
    moved = _memories(now) - _memories(read.value)
    taken = {
        memory
        for other in m.finished
        if other is not record and (other.clock > record.clock or keys_of(other) != keys_of(record))
        if (same := other.reads.get((id(read.fields), read.key))) is not None
        for memory in _memories(same.value)
    }
    return bool(moved) and moved <= taken


def _memories(value: Value) -> set[object]:
    """What tells the memory apart that a value leads to: storages, and objects that hold some."""
    held: set[object] = {t.storage for t in tensors_in(value)}
    return held | {part for part in alternatives(value) if isinstance(part, Obj)}


def _frozen_uses(m: Machine, record: Capture, place: Place) -> None:
    """Host numbers in the graph whose cells have been given other values since."""
    reported: set[tuple[str, int, int]] = set()
    for use in record.host_uses:
        spot = _spot(use)
        if spot in reported:
            continue
        written = _written_cell(m, record, use)
        if _is_flag(record, use):
            if written is None or change_of(written.value) is not Change.CHANGING:
                written = _switched(m, record, use) or requests.ignored(m, record, use)
            if written is None:
                continue  # programs turn flags around their captures; what a call brings is another matter
        else:
            written = written or _advanced_cell(m, record, use) or displaced.number(m, record, use)
        if written is not None or _is_left_behind(m, record, use):
            reported.add(spot)
            _tell_frozen(m, record, use, written)
    for use, written in walked.added_to(m, record):
        _tell_frozen(m, record, use, written)


def _tell_frozen(m: Machine, record: Capture, use: HostUse, written: Write | None) -> None:
    event = FrozenUse(place=use.place, chain=use.chain, capture=record, certainty=use.certainty, use=use)
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


def keys_of(record: Capture) -> set[object]:
    """The identities of the host values that choose a capture's graph."""
    return record.keys | (record.graph.fields.get("keys", set()) if record.graph is not None else set())


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
    if not is_changing or m.step <= record.step or tensor_ops.is_key(keys_of(record), use.value):
        return False
    if record.graph is not None and record.graph.fields.get("open key"):
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
    """Whether a number is taken from each call anew, unlike a flag that the program sets and clears."""
    number = isinstance(then, Const) and type(then.value) in (int, float)
    return number and isinstance(now, Host) and now.change is Change.CHANGING and now.kind != "bool"


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


def is_graph(value: Value) -> bool:
    return isinstance(value, Obj) and value.is_a("torch.cuda.CUDAGraph")


def graphs_in(value: Value) -> list[Obj]:
    """The graphs that a value may be."""
    return [part for part in alternatives(value) if isinstance(part, Obj) and is_graph(part)]
