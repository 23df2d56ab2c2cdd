"""Captures and graphs: what a capture reads, makes and leaves behind, and what a replay finds changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphlint.analysis.certainty import Certainty
from graphlint.analysis.frames import Condition, Loop, Place
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import (
    COPY,
    MODE,
    MOVED,
    TAKEN,
    Cell,
    Change,
    Const,
    Env,
    Fields,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Storage,
    Tensor,
    Unknown,
    Value,
    alternatives,
    is_none,
    join_all,
)
from graphlint.finding import Hop
from graphlint.rules import operations

DROPPED = "dropped"
"""The field of a graph that says that a container has let go of it."""


@dataclass(slots=True)
class Read:
    """A cell that captured code read: the value then, and where."""

    fields: Fields
    key: Any
    value: Value
    place: Place
    chain: tuple[Hop, ...]
    owner: Value | Env | None
    name: str


@dataclass(slots=True)
class HostUse:
    """A host value that became part of the graph: a scalar argument, a slice bound, a branch."""

    value: Value
    cells: frozenset[Cell]
    use: str
    place: Place
    chain: tuple[Hop, ...]
    certainty: Certainty


@dataclass(slots=True)
class Write:
    """A write to a cell: where, at which tick of the machine's clock, and whether a capture was open."""

    place: Place
    chain: tuple[Hop, ...]
    clock: int
    capturing: bool
    value: Value
    augmented: bool = False
    conditional: bool = False
    local: bool = False
    stamp: int = 0
    filling: bool = False  # where the cell was empty, or under a test that found it so
    times: int | None = 1  # how often the loops of captured code repeat it
    loops: frozenset[int] = frozenset()  # the loops around it, where that matters
    step: int = 0
    under: tuple[Condition, ...] = ()  # the undecided tests that led to it
    passed: tuple[Condition, ...] = ()  # and those by which a call would have left before

    @property
    def by_constructor(self) -> bool:
        return self.place.function.endswith(".__init__")

    @property
    def brought(self) -> bool:
        """Whether a test of what differs from call to call led to it: `if epoch == last`."""
        return any(change_of(condition.value) is Change.CHANGING for condition in self.under)


@dataclass(slots=True)
class Changed:
    """A cell that a graph read and that names something else when the graph is replayed.

    `orphaned` tells that the graph is one of several, and that nothing names its own input any more.
    """

    read: Read
    now: Value
    writes: list[Write]
    certain: bool
    orphaned: bool = False


@dataclass(slots=True)
class Unresolved:
    """A call in captured code that could not be followed."""

    place: Place
    text: str
    reason: str


@dataclass(slots=True)
class Capture:
    """One capture region being recorded, and afterwards the record of it."""

    kind: str
    place: Place
    chain: tuple[Hop, ...]
    graph: Obj | None
    stream: Obj | None = None
    pool: Value | None = None
    mode: str = "global"
    depth: int = 0
    clock: int = 0
    renewed: Capture | None = None  # a later one that may be replayed in its place, as seen by the replay
    step: int = 0
    serial: int = 0
    ended: bool = False
    compiled: bool = False
    reads: dict[Cell, Read] = field(default_factory=dict)
    host_uses: list[HostUse] = field(default_factory=list)
    host_reads: dict[Cell, Read] = field(default_factory=dict)
    storages: dict[Storage, Place] = field(default_factory=dict)
    functions: dict[int, tuple[Place, tuple[Hop, ...]]] = field(default_factory=dict)
    unresolved: list[Unresolved] = field(default_factory=list)
    resolved: int = 0
    calls: dict[tuple[str, int, int], bool] = field(default_factory=dict)  # whether it is `self.name(...)`
    replayed: set[Hop] = field(default_factory=set)
    keys: set[Any] = field(default_factory=set)
    forked: dict[int, Place] = field(default_factory=dict)
    pending: dict[int, Place] = field(default_factory=dict)
    merged: dict[int, set[int]] = field(default_factory=dict)
    escaped: dict[int, Place] = field(default_factory=dict)
    written: dict[Cell, Write] = field(default_factory=dict)
    work: int = 0
    operations: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    lazy: bool = False  # begun under a condition: the program was running already
    loops: tuple[tuple[Loop, int], ...] = ()
    absent: set[Cell] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    first: dict[Cell, Write] = field(default_factory=dict)
    before: dict[Cell, Any] = field(default_factory=dict)
    appended: dict[Cell, bool] = field(default_factory=dict)
    first_runs: set[Hop] = field(default_factory=set)
    walked: dict[Cell, tuple[Sequence_, HostUse]] = field(default_factory=dict)
    filled: set[Storage] = field(default_factory=set)  # memory that captured code writes in place
    carried: dict[Cell, tuple[Write, Read, Certainty]] = field(default_factory=dict)
    orphaned: dict[Cell, Write] = field(default_factory=dict)
    lost: dict[Any, Any] = field(default_factory=dict)  # what it was handed and nothing leads to any more
    lost_stores: list[tuple[str, int, int]] = field(default_factory=list)  # into what is not known
    host_memory: dict[Cell, Read] = field(default_factory=dict)  # cells with tensors on the CPU
    contents: dict[int, tuple[Storage, int]] = field(default_factory=dict)  # what of them became numbers

    @property
    def by_program(self) -> bool:
        """Whether the program begins this capture itself, not a compiler or a declaration."""
        return not self.compiled and self.kind in operations.listed("captures_of_programs")

    @property
    def memory(self) -> Value | None:
        """The pool that the graph allocates from: the one it was given, else its own."""
        if not is_none(self.pool):
            return self.pool
        own = self.graph.fields.get("own-pool") if self.graph is not None else None
        return own if isinstance(own, Value) else None


def new_graph(place: Place) -> Obj:
    """A graph that nothing has been captured into yet."""
    made = Obj("torch.cuda.CUDAGraph", place)
    made.fields["stamp"] = 0
    return made


def names_other_memory(then: Value, now: Value) -> tuple[bool, bool]:
    """Whether `now` holds other tensor memory than `then`: (possibly, certainly)."""
    before = memories_of(then)
    if not before:
        return False, False
    now_held = alternatives(now)
    moved = [part for part in now_held if isinstance(part, Tensor) and part.storage not in before]
    elsewhere = any(
        isinstance(part, Unknown) and part.typed in (MOVED, TAKEN) and part.serial not in before
        for part in now_held
    )
    certainly = bool(moved) and len(moved) == len(now_held)
    return bool(moved) or elsewhere, certainly and any(isinstance(part, Storage) for part in before)


def memories_of(value: Value) -> set[object]:
    """What tells apart the memory that a value may be: storages, and unknown values that are tensors."""
    held: set[object] = {part.storage for part in alternatives(value) if isinstance(part, Tensor)}
    return held | {
        part.serial for part in alternatives(value) if isinstance(part, Unknown) and part.typed == TAKEN
    }


def holds_other_memory(record: Capture, then: Value, now: Value, depth: int = 3) -> tuple[bool, bool]:
    """Whether `now` leads to other memory than `then` where the capture read it: (possibly, certainly).

    A tensor is compared by its storage, an object or container by the tensors in it that the capture read,
    so that an object made anew around the captured tensors is the same.
    """
    possibly, certainly = names_other_memory(then, now)
    if possibly or not depth:
        return possibly, certainly
    found = [
        holds_other_memory(record, before, after, depth - 1)
        for one in alternatives(then)
        for other in alternatives(now)
        if one is not other
        for before, after in _parts_read(record, one, other)
    ]
    certain = len(alternatives(now)) == 1 and any(each[1] for each in found)
    return any(each[0] for each in found), certain


def _parts_read(record: Capture, one: Value, other: Value) -> list[tuple[Value, Value]]:
    """What the capture read of `one`, each beside what is in the same place of `other`."""
    if isinstance(one, Sequence_) and isinstance(other, Sequence_):
        more = () if other.rest is None else (other.rest,) * (len(one.items) - len(other.items))
        pairs = list(zip(one.items, (*other.items, *more), strict=False))
        return pairs if one.rest is None else [*pairs, (one.rest, join_all(other.elements()))]
    if not (isinstance(one, Obj) and isinstance(other, Obj)) and not (
        isinstance(one, Mapping) and isinstance(other, Mapping)
    ):
        return []
    pairs = list(_weights(record, one, other))
    for read in record.reads.values():
        if read.fields is one.fields:
            now = value_in(other.fields, read.key) or _by_unknown_key(other, read.key)
            if now is not None:
                pairs.append((read.value, now))
    return pairs


def _weights(record: Capture, one: Value, other: Value) -> Iterator[tuple[Value, Value]]:
    """The weights of a module that nobody constructs, which the capture has called, and those of its copy."""
    if not (isinstance(one, Obj) and isinstance(other, Obj)) or other.label != COPY:
        return
    if one.serial in record.facts.get("modules", {}):
        yield Tensor(Storage(None, None)), Tensor(Storage(None, None))


def _by_unknown_key(owner: Obj | Mapping | Sequence_, key: Any) -> Value | None:
    """What a mapping may hold under a key, where the key or those of the mapping are not known."""
    if not isinstance(owner, Mapping) or not owner.fields:
        return None
    known = key != Mapping.ANY and all(isinstance(name, Const) for name, _ in owner.entries())
    return None if known else join_all(value for _, value in owner.entries())


@dataclass(frozen=True, slots=True)
class Item:
    """The key of a list's cell: a list keeps its items in one tuple."""

    index: int


def value_in(fields: Fields, key: Any) -> Value | None:
    """The value of a cell, whether of an object, a dict or a list; None when there is none."""
    if isinstance(key, Item):
        items = fields["items"]
        return items[key.index] if key.index < len(items) else None
    held = fields.get(key)
    if isinstance(held, tuple) and len(held) == 2:
        held = held[1]
    return held if isinstance(held, Value) else None


def share_memory(one: Capture, other: Capture) -> bool:
    """Whether two graphs certainly allocate from one pool."""
    first, second = one.memory, other.memory
    if first is None or second is None:
        return False
    return set(map(id, alternatives(first))) == set(map(id, alternatives(second)))


def is_other_number(then: Value, now: Value) -> bool:
    """Whether the host value `now` is known or likely to differ from `then`."""
    if isinstance(then, Host) and isinstance(then.symbol, tuple) and then.symbol[:1] == (MODE,):
        then = Const(True)  # modules are made in training mode
    before, after = identity_of(then), identity_of(now)
    return before is None or after is None or before != after
