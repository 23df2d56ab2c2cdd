"""The abstract machine: state shared by everything that evaluates, and the services around it.

It runs the program's own life on abstract values. What an expression or statement means is in
`expressions`, `statements`, `calls`, `attributes` and the library models; when a method is called
at all is decided by `lifecycle`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    certainty,
    streams,
)
from graphlint.analysis.budgets import Budget, Exhausted
from graphlint.analysis.events import Event
from graphlint.analysis.frames import Condition, Frame, Loop, Place
from graphlint.analysis.graphs import Capture, Unresolved, Write
from graphlint.analysis.heap import Heap
from graphlint.analysis.late_changes import Late
from graphlint.analysis.parallel import ThreadRun, note_cuda_call, note_work
from graphlint.analysis.parts import cells_of
from graphlint.analysis.timeline import Timeline
from graphlint.analysis.values import (
    Cell,
    Env,
    Fields,
    Function,
    Mapping,
    Obj,
    Sequence_,
    Storage,
    Tensor,
    Value,
)
from graphlint.facts import nodes as ast
from graphlint.finding import Hop

if TYPE_CHECKING:
    from graphlint.analysis.classes import ClassInfo
    from graphlint.analysis.deferral import Deferred
    from graphlint.analysis.handed import Handed
    from graphlint.config import Config
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project


class Machine:
    """Runs scenarios over a project and tells `listener` about every event."""

    MAX_DEPTH = 48
    VISITS = 6
    RECURSION = 6

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
        self.absent: set[tuple[int, str]] = set()  # names that a module certainly does not give
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
        # how many of them have captured: what replays comes after them
        self.capturing_visits: dict[Any, int] = {}
        self.executed: dict[int, int] = {}
        self.ran: dict[tuple[int, int], Env | None] = {}
        self.nested: list[Function] = []
        self.prepared: dict[int, set[str]] = {}
        self.function_fields: dict[tuple[int, int], Fields] = {}
        self.tensor_fields: dict[int, tuple[Tensor, Fields]] = {}
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
        capture = self.captures[-1] if self.captures else self.foreign
        if capture is None:
            return ()
        hops = [*capture.chain, capture.place.hop] if capture.chain else [capture.place.hop]
        hops += [frame.entry for frame in self.frames[capture.depth + 1 :] if frame.call is not None]
        hops.append(place.hop)
        return tuple([hop for hop, _ in itertools.groupby(hops)])

    def emit(self, event: Event) -> None:
        if self.listener is _deaf:
            return
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
        if self.captures:
            self.captures[-1].resolved += 1

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

    def note_made(self, value: Obj | Mapping) -> None:
        """Remember that captured code made an object or a dict: what it keeps there is its own."""
        for capture in self.captures:
            capture.made.add(value.serial)

    def note_size(self, value: Value) -> None:
        """Remember that a number bounds a slice or a shape: the loops whose element it is are sized."""
        for cell in cells_of(value) & self.loop_cells.keys():
            self.loop_cells[cell].sized = True

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

    def fields_of_tensor(self, tensor: Tensor) -> Fields:
        """The attributes of its own that the program set on a tensor, as `main_grad` on a parameter."""
        return self.tensor_fields[id(tensor)][1] if id(tensor) in self.tensor_fields else {}

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
        self._waiting = m.budget.waiting
        if m.captures:
            m.budget.waiting = len(m.frames)
        m.captures, m.streams, m.contexts, m.meta_read = [], [], [], False
        m.earlier += 1
        self._aside.__enter__()

    def __exit__(self, *_: object) -> None:
        m = self._m
        self._aside.__exit__()
        m.captures, m.streams, m.contexts, m.meta_read = self._kept
        m.earlier -= 1
        m.budget.waiting = self._waiting


def _deaf(event: Event) -> None:
    """Listens to what happens in compiled code."""
