"""The abstract machine: state shared by everything that evaluates, and the services around it.

It runs the program's own life on abstract values. What an expression or statement means is in
`expressions`, `statements`, `calls`, `attributes` and the library models; when a method is called
at all is decided by `lifecycle`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    carried,
    certainty,
    conditions,
    effects,
    once,
    orphans,
    outputs,
    renamed,
    streams,
    swaps,
    walked,
)
from graphlint.analysis.budgets import Budget, Exhausted
from graphlint.analysis.events import Displaced, Event
from graphlint.analysis.frames import Condition, Frame, Loop, Place
from graphlint.analysis.graphs import Capture, Read, Unresolved, Write
from graphlint.analysis.heap import Heap
from graphlint.analysis.late_changes import Late
from graphlint.analysis.parallel import ThreadRun, note_cuda_call, note_work
from graphlint.analysis.parts import cells_of, tensors_in, with_cell
from graphlint.analysis.timeline import Timeline
from graphlint.analysis.values import (
    MOVED,
    TAKEN,
    Cell,
    Const,
    Env,
    Fields,
    Function,
    Host,
    Mapping,
    Obj,
    Partial,
    Sequence_,
    Storage,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
)
from graphlint.finding import Hop

if TYPE_CHECKING:
    from graphlint.analysis.classes import ClassInfo
    from graphlint.analysis.deferral import Deferred
    from graphlint.analysis.handed import Handed
    from graphlint.config import Config
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project


# Library objects whose tensors captured code reads through them.
HOLDERS = ("torch.nn.", "torch.optim.")


class Machine:
    """Runs scenarios over a project and tells `listener` about every event."""

    MAX_DEPTH = 48
    VISITS = 6
    RECURSION = 6
    MOST_WRITES = 24  # of one cell are remembered

    def __init__(
        self, project: Project, config: Config, listener: Callable[[Event], None], steps: int
    ) -> None:
        self.project = project
        self.config = config
        self.listener = listener
        self.told = listener
        self.heap = Heap()
        self.frames: list[Frame] = []
        self.captures: list[Capture] = []
        self.finished: list[Capture] = []
        self.has_graphs = False  # whether anything has been captured or compiled so far
        self.contexts: list[Obj] = []
        self.open_exits: list[Callable[[], None]] = []
        self.suspending = 0
        self.streams: list[Obj] = []
        self.timeline = Timeline()
        self.default_stream = Obj("torch.cuda.Stream", None, "default")
        self.capture_stream = Obj("torch.cuda.Stream", None, "capture")
        self.loop_cells: dict[Cell, Loop] = {}
        self.module_envs: dict[int, Env] = {}
        self.evaluating: set[tuple[int, str]] = set()
        self.classes: dict[int, ClassInfo] = {}
        self.instances: dict[int, Obj] = {}
        self.refilled: dict[Storage, int] = {}  # when eager code last wrote into memory
        self.names_of: dict[Storage, list[tuple[Fields, Any]]] = {}
        self.touched: dict[Storage, int] = {}  # when eager code last did anything with memory
        self.others: dict[int, Obj] = {}
        self.escaped: set[Storage] = set()
        self.lost_stores: set[tuple[str, int, int]] = set()
        self.writes: dict[Cell, list[Write]] = {}
        self.filled: dict[Cell, Capture] = {}
        self.keyed: dict[object, tuple[set[object], bool]] = {}  # records by the keys of tables, and if open
        self.kept_alive: list[Fields] = []
        self.memo: dict[Any, Any] = {}
        self.visits: dict[Any, int] = {}
        self.executed: dict[int, int] = {}
        self.ran: dict[tuple[int, int], Env | None] = {}
        self.nested: list[Function] = []
        self.prepared: dict[int, set[str]] = {}
        self.function_fields: dict[tuple[int, int], Fields] = {}
        self.threads: list[ThreadRun] = []
        self.foreign: Capture | None = None
        self.backward_hooks: list[tuple[Value, Value, list[Value], Obj]] = []
        self.entered: dict[int, Place] = {}
        self.running: list[ThreadRun] = []
        self.loaders: list[Obj] = []
        self.effects: dict[Cell, Capture] = {}
        self.copies: dict[int, Sequence_] = {}
        self.sequence_cells: dict[int, set[Cell]] = {}
        self.updating = False
        self.warming: list[ast.AST] = []
        self.replays = 0
        self.own_replays = 0  # those that no thread makes
        self.late: list[Late] = []
        self.trains = False  # whether the program has run a backward pass
        self.resets: list[Condition] = []  # undecided tests under which a graph was let go
        self.arms: set[tuple[int, bool]] = set()  # of which `if`, by its identity, which arm has run
        self.captured_under: set[tuple[int, bool]] = set()  # ... and has captured
        self.left_under: dict[tuple[int, bool], int] = {}  # ... has left, and after how many captures
        self.callees: list[Value] = []  # what the call being made may lead to, where several
        self.replaying: dict[int, set[str]] = {}
        self.capturing: dict[int, set[str]] = {}  # the methods of objects that have captured
        self.handed: list[Handed] = []
        self.handed_out: set[ClassInfo | str] = set()  # classes whose objects the root makes for its callers
        self.partial: set[Any] = (
            set()
        )  # numbers that eager code cuts memory by: they differ from call to call
        self.handling = 0  # how many handlers of failed captures are being run
        self.counted = 0  # how many counts of rounds have become unknown
        self.script = False
        self.is_part = False  # whether the root is a class that another definition makes instances of
        self.open_defaults = False  # whether flags of the root's parameters may differ from their defaults
        self.clock = 0
        self.steps = 0
        self.limit = 0
        self.budget = Budget(self, steps)
        self.goal: ast.AST | None = None  # the root, and the definitions that lead to its captures
        self.goals: frozenset[str] = frozenset()
        self.cuts: dict[tuple[int, int], Function] = {}  # what was cut short, by node and scope
        self.skipped: set[int] = set()  # functions that eager code has called more often than is followed
        self.lost = False  # whether calls were cut short that may have warmed something up
        self.deferred: dict[int, list[Deferred]] = {}
        self.meta_read = False
        self.earlier = 0  # how many things are being run aside that happened earlier in the program
        self.step = 0

    # places and events

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def capture(self) -> Capture | None:
        """The innermost open capture."""
        return self.captures[-1] if self.captures else None

    def chain(self, place: Place) -> tuple[Hop, ...]:
        """The hops from the open capture's region to `place`; empty outside a capture."""
        capture = self.capture or self.foreign
        if capture is None:
            return ()
        hops = [*capture.chain, capture.place.hop] if capture.chain else [capture.place.hop]
        hops += [frame.call.hop for frame in self.frames[capture.depth + 1 :] if frame.call is not None]
        hops.append(place.hop)
        return tuple(hop for hop, _ in itertools.groupby(hops))

    def emit(self, event: Event) -> None:
        event.capture = event.capture or self.capture
        event.chain = event.chain or self.chain(event.place)
        event.certainty = event.certainty or certainty.now(self)
        self.listener(event)

    def repetitions(self) -> tuple[tuple[Place, int | None], ...]:
        """The loops in progress, outermost first, and how often the program runs each where that is known."""
        return tuple((loop.place, loop.count) for frame in self.frames for loop in frame.loops)

    def unresolved(self, place: Place, reason: str) -> None:
        """Count a call in captured code that could not be followed."""
        if self.capture is not None:
            text = place.text[:120] if isinstance(place.node, ast.expr) else ""
            self.capture.unresolved.append(Unresolved(place, text, reason))
        else:
            self.timeline.forget()

    def count_resolved(self) -> None:
        """Count a call in captured code that was followed."""
        if self.capture is not None:
            self.capture.resolved += 1

    def spend(self) -> None:
        """Count a step; a scenario, or a call, that has taken too many ends here."""
        self.steps += 1
        if self.steps > self.limit:
            self.budget.look()

    # memory

    def storage(self, device: str | None, place: Place | None) -> Storage:
        """A new block of memory; inside a capture it belongs to the graph's pool."""
        graph = None
        if self.captures and device in ("cuda", None):
            graph = self.captures[-1].graph
            self.captures[-1].work += 1
            streams.on_work(self, place)
        made = Storage(device, place, graph)
        if device in ("cuda", "pinned"):
            note_cuda_call(self)
            note_work(self, place)
        made.stream = self.streams[-1] if self.streams else None
        return made

    def tensor(
        self,
        device: str | None,
        place: Place | None,
        kind: str | None = None,
        ndim: int | None = None,
        shape: tuple[Value, ...] | None = None,
    ) -> Tensor:
        return Tensor(self.storage(device, place), kind, ndim, shape=shape)

    # cells

    def write(
        self,
        fields: Fields,
        key: Any,
        value: Value,
        place: Place | None,
        *,
        augmented: bool = False,
        local: bool = False,
    ) -> None:
        """Write a cell and remember where, so that a replay can blame the write."""
        if self.captures and place is not None:
            self.captures[-1].before.setdefault((id(fields), key), fields.get(key))
        old = fields.get(key) if self.finished and not local else None
        once.note_reset(self, fields.get(key), value)
        self.heap.write(fields, key, value)
        if old is not None and place is not None:
            orphans.note_replaced(self, fields, key, old, value, place)
        if place is not None:
            self.log_write(fields, key, value, place, augmented=augmented, local=local)

    def log_write(
        self,
        fields: Fields,
        key: Any,
        value: Value,
        place: Place,
        *,
        augmented: bool = False,
        local: bool = False,
    ) -> None:
        """Note a write that has happened, for a replay to blame."""
        cell = (id(fields), key)
        renamed.note_named(self, fields, key, value)
        history = self.writes.get(cell)
        if history is not None and len(history) >= self.MOST_WRITES and not self.captures:
            return
        under = conditions.undecided(self)
        conditional = bool(under) and any(not c.decided for c in self.frame.conditions)
        record = Write(
            place, self.chain(place), self.clock, bool(self.captures), value, augmented, conditional, local
        )
        record.filling = conditional and (
            conditions.finds_empty(self, fields, key) or conditions.fills_tested_item(self, place.node)
        )
        record.step, record.under = self.step, under
        filled = self.filled.get(cell) or self.effects.get(cell)
        if filled is not None and filled.graph is not None:
            record.stamp = filled.graph.fields.get("stamp", 0)
        if history is None:
            self.kept_alive.append(fields)
            self.writes[cell] = [record]
        elif len(history) < self.MOST_WRITES:
            history.append(record)
        if self.captures:
            record.times = swaps.times(self)
            carried.note_write(self, fields, key, record)
            self.captures[-1].written[cell] = record
            self.captures[-1].first.setdefault(cell, record)

    def displaced(self, fields: Fields, key: Any, value: Value, place: Place, name: str) -> None:
        """Tell when eager code reads, after a replay, a cell that the graph was expected to have filled."""
        capture = self.filled.get((id(fields), key))
        if capture is None or capture.graph is None or not capture.graph.fields.get("stamp", 0):
            return
        own = capture.written[(id(fields), key)]
        graph = capture.graph
        held = list(tensors_in(value, 1))
        if any(t.storage.graph is graph for t in held) or not (held or is_none(value)):
            return
        writes = [w for w in self.writes.get((id(fields), key), ()) if w.clock >= capture.clock]
        last = writes[-1] if writes else None
        if last is not None and not last.capturing and last.place.key != own.place.key:
            if last.stamp < graph.fields["stamp"]:
                event = Displaced(place=place, name=name, captured=own.place, written=last.place)
                event.cleared = is_none(value)
                self.emit(event)

    def note_read(
        self, fields: Fields, key: Any, value: Value, place: Place, owner: Value | None, name: str
    ) -> None:
        """Remember that captured code reads a cell that holds tensors, or an object that may."""
        capture = self.capture
        if capture is None or self.meta_read or capture.compiled:
            return
        cell = (id(fields), key)
        if cell in capture.reads or cell in capture.written:
            return
        held = tensors_in(value, 1)
        called = isinstance(value, (Function, Partial)) and isinstance(owner, Obj)
        if (
            called
            or _may_hold(value)
            or any(tensor.on_device or tensor.device == "pinned" for tensor in held)
        ):
            self.kept_alive.append(fields)
            capture.reads[cell] = Read(fields, key, value, place, self.chain(place), owner, name)
        elif held and cell not in capture.host_memory:
            self.kept_alive.append(fields)
            capture.host_memory[cell] = Read(fields, key, value, place, (), owner, name)

    def tainted(
        self, fields: Fields, key: Any, value: Value, place: Place, owner: Value | Env | None, name: str
    ) -> Value:
        """A host value that captured code reads from a cell remembers the cell."""
        capture = self.capture
        if capture is not None and isinstance(value, Mapping) and isinstance(owner, Obj):
            walked.note_named(self, fields, key, value, place, owner)
        if capture is None or capture.compiled or not _is_host(value):
            return value
        cell = (id(fields), key)
        if isinstance(value, Sequence_) and not effects.taint_elements(self, value, cell):
            return value
        if cell not in capture.host_reads:
            self.kept_alive.append(fields)
            capture.host_reads[cell] = Read(fields, key, value, place, self.chain(place), owner, name)
        return with_cell(value, cell)

    def note_made(self, value: Obj | Mapping) -> None:
        """Remember that captured code made an object or a dict: what it keeps there is its own."""
        for capture in self.captures:
            capture.made.add(value.serial)

    def note_size(self, value: Value) -> None:
        """Remember that a number bounds a slice or a shape: the loops whose element it is are sized."""
        for cell in cells_of(value) & self.loop_cells.keys():
            self.loop_cells[cell].sized = True

    def refresh(self, value: Value, place: Place, depth: int = 4) -> Value:
        """What reading `value` from a name or field yields: outputs are stamped with the replay count.

        Containers are followed to `depth`: one may hold itself.
        """
        if not self.has_graphs:
            return value
        if isinstance(value, Tensor):
            return value if value.storage.graph is None else outputs.stamped(self, value, place)
        if not depth:
            return value
        if isinstance(value, Union) and _holds_output(value.values):
            return Union(tuple(self.refresh(p, place, depth - 1) for p in value.values), value.chosen_by)
        if isinstance(value, Sequence_) and _holds_output(value.items):
            items = [self.refresh(item, place, depth - 1) for item in value.items]
            fresh = Sequence_(items, value.kind, value.rest, value.change, value.site)
            effects.note_copy(self, value, fresh)
            return fresh
        if isinstance(value, Mapping) and _holds_output(part for _, part in value.entries()):
            copy = Mapping(value.site)
            for key, (name, part) in value.fields.items():
                copy.fields[key] = (name, self.refresh(part, place, depth - 1))
            return copy
        if isinstance(value, Obj) and not isinstance(value.cls, str) and value.cls.is_plain_record:
            return self._record_of_outputs(value, place, depth)
        return value

    def _record_of_outputs(self, value: Obj, place: Place, depth: int) -> Obj:
        """A record whose fields are outputs is read like a tuple of them: one for each replay.

        One that holds the graph as well is no result of a replay: its outputs are read on demand.
        """
        parts = [part for part in value.fields.values() if isinstance(part, Value)]
        if self.captures or not _holds_output(parts) or any(map(_may_be_graph, parts)):
            return value
        copy = Obj(value.cls, value.site, value.label)
        for name, part in value.fields.items():
            copy.fields[name] = self.refresh(part, place, depth - 1) if isinstance(part, Value) else part
        return copy

    def check_stale(self, value: Tensor, place: Place) -> None:
        """Tell of a read through an alias that was taken before the graph's last replay."""
        outputs.check(self, value, place)
        outputs.check_pool(self, value, place)

    def close(self) -> None:
        """Let go of all values: they refer to each other in circles, and through them to syntax trees.

        The machine is of no use afterwards. Else only a search for garbage, slow with so many trees in
        memory, would find that the modules which nobody needs any more can go.
        """
        for env in self.module_envs.values():
            env.fields.clear()
        for info in self.classes.values():
            vars(info).clear()
        vars(self).clear()

    # compiled code

    @property
    def is_compiling(self) -> bool:
        """Whether what runs now is the Python of compiled code."""
        return self.listener is _deaf

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Run the Python of compiled code: nothing that happens in it is told."""
        listener, self.listener = self.listener, _deaf
        try:
            yield
        finally:
            self.listener = listener

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Run Python that compiled code calls as it is."""
        listener, self.listener = self.listener, self.told
        try:
            yield
        finally:
            self.listener = listener

    # running aside

    def before_everything(self) -> _Before:
        """Evaluate something that happened earlier in the program: no capture, no journals."""
        return _Before(self)

    @contextmanager
    def allowance(self) -> Iterator[None]:
        """Run something aside with a share of the steps; where they do not do, what it has done stays.

        A given object may be a whole engine: what the program does with it comes first.
        """
        exits, running = list(self.open_exits), list(self.running)
        try:
            with self.budget.share():
                yield
        except Exhausted:
            if self.steps > self.budget.end:
                raise
            self.open_exits[:], self.running[:], self.updating = exits, running, False

    def fields_of(self, function: Function) -> Fields:
        """The attributes that the program set on a function object, bound or not."""
        scope = function.env.fields if function.env is not None else {}
        key = (id(function.node), id(scope) if function.env is not None else 0)
        if key not in self.function_fields:
            self.kept_alive.append(scope)
            self.function_fields[key] = {}
        return self.function_fields[key]

    def env_of(self, module: ModuleFile) -> Env:
        """The global names of a module, filled on demand."""
        env = self.module_envs.get(id(module))
        if env is None:
            env = self.module_envs[id(module)] = Env(module)
        return env


class _Before:
    """Not a generator, which takes three times as long: nearly every global name is evaluated under it."""

    def __init__(self, m: Machine) -> None:
        self._m = m
        self._aside = m.heap.aside()

    def __enter__(self) -> None:
        m = self._m
        self._kept = (m.captures, m.streams, m.contexts, m.meta_read)
        m.captures, m.streams, m.contexts, m.meta_read = [], [], [], False
        m.earlier += 1
        self._aside.__enter__()

    def __exit__(self, *_: object) -> None:
        m = self._m
        self._aside.__exit__()
        m.captures, m.streams, m.contexts, m.meta_read = self._kept
        m.earlier -= 1


def _deaf(event: Event) -> None:
    """Listens to what happens in compiled code."""


def _is_host(value: Value) -> bool:
    """Whether a value is a number, text or list, whichever of its alternatives it is."""
    if isinstance(value, Union):
        return all(isinstance(part, (Const, Host)) for part in value.values)
    return isinstance(value, (Const, Host, Sequence_))


def _may_be_graph(value: Value) -> bool:
    return any(isinstance(part, Obj) and part.is_a("torch.cuda.CUDAGraph") for part in alternatives(value))


def _may_hold(value: Value) -> bool:
    """Whether a value is an object or a dict, whose tensors captured code may read through it.

    What was moved to a device is one as well: it may be a tensor.
    """
    return any(
        isinstance(part, Mapping)
        or any(map(_was_moved, part.elements() if isinstance(part, Sequence_) else (part,)))
        or (isinstance(part, Obj) and (not isinstance(part.cls, str) or part.cls.startswith(HOLDERS)))
        for part in alternatives(value)
    )


def _was_moved(value: Value) -> bool:
    return isinstance(value, Unknown) and value.typed in (MOVED, TAKEN)


def _holds_output(values: Iterable[Value]) -> bool:
    """Whether a container directly holds a replayed graph's output that is not stamped yet."""
    for value in (part for each in values for part in alternatives(each)):
        if isinstance(value, Tensor) and value.storage.graph is not None and value.stamp == 0:
            return bool(value.storage.graph.fields.get("stamp", 0))
    return False
