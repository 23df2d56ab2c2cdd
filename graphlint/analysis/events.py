"""What happens while the machine runs the program: the only thing that rules see.

Every event carries its place, the chain from the capture region (empty outside a capture), the
region, and how sure it is that the program really gets there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphlint.analysis.certainty import Certainty
from graphlint.analysis.frames import Condition, Place
from graphlint.analysis.values import Cell, Obj, Storage, Tensor, Value
from graphlint.finding import Hop

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture, Changed, HostUse
    from graphlint.rules.operations import Operation as OperationEntry


@dataclass(slots=True, kw_only=True)
class Event:
    """The common part of all events."""

    place: Place
    chain: tuple[Hop, ...] = ()
    capture: Capture | None = None
    certainty: Certainty | None = None


@dataclass(slots=True, kw_only=True)
class Operation(Event):
    """A library operation whose table entry has an effect on a capture, with its operands.

    `effect` is a word of the operation tables; `how` says how it was reached when it is not
    written as a call (`if`, `f-string`, `for`, `index`).
    """

    name: str
    effect: str
    operands: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    how: str = "call"
    entry: OperationEntry | None = None


@dataclass(slots=True, kw_only=True)
class FrozenUse(Event):
    """A host number that changes between calls was recorded into a graph.

    `written` is where the program gives it another value, None when it is a changing argument.
    """

    use: HostUse
    written: Place | None = None


@dataclass(slots=True, kw_only=True)
class CaptureStarted(Event):
    """A capture begins; the place is the `with` or the `capture_begin` call."""


@dataclass(slots=True, kw_only=True)
class CaptureEnded(Event):
    """A capture has ended and its graph may be replayed."""


@dataclass(slots=True, kw_only=True)
class Replay(Event):
    """A graph is replayed: which of the cells it read now name other memory.

    `replaced` are the reads of memory that was swapped since behind a name that stays, each with the place.
    `settled` are the answers of configuration on the way to the replay.
    """

    graph: Obj
    recorded: Capture
    changed: tuple[Changed, ...] = ()
    replaced: tuple[tuple[Place, Place], ...] = ()
    settled: dict[object, bool] = field(default_factory=dict)
    step: int = 0


@dataclass(slots=True, kw_only=True)
class ReplayInCapture(Event):
    """A graph is replayed while another capture is open."""

    graph: Obj


@dataclass(slots=True, kw_only=True)
class StaleRead(Event):
    """An alias of a graph's output, taken before the last replay, is read after it.

    Without a graph it is memory of the program that graphs fill, and is read together with a later result.
    """

    tensor: Tensor
    graph: Obj | None
    taken: Place
    kept: Place | None = None


@dataclass(slots=True, kw_only=True)
class PoolOverwritten(Event):
    """An output is read after a replay of a graph of the same pool that was captured before the output's."""

    tensor: Tensor
    graph: Obj
    replayed: Place


@dataclass(slots=True, kw_only=True)
class LastCaptureRead(Event):
    """Eager code reads a field that every capture has bound to its outputs, after a replay of another graph.

    `written` is where captured code has bound it.
    """

    name: str
    written: Place


@dataclass(slots=True, kw_only=True)
class Returned(Event):
    """A function that replays a graph gives the caller aliases of the graph's output."""

    value: Value
    aliases: tuple[Tensor, ...]
    copied: bool
    root: bool


@dataclass(slots=True, kw_only=True)
class Stored(Event):
    """A value is stored in an attribute, item, global or container."""

    cell: Cell
    owner: Value | None
    name: str
    value: Value
    old: Value | None
    augmented: bool = False


@dataclass(slots=True, kw_only=True)
class Allocated(Event):
    """Memory of the graph that is being captured is stored where it outlives the capture.

    `name` is the field or key; `guarded` tells that captured code had found nothing there before.
    """

    tensor: Tensor
    stored: Place
    name: str
    guarded: bool


@dataclass(slots=True, kw_only=True)
class InputFreed(Event):
    """Nothing holds memory any more that a living graph reads; the place is where it was made or let go."""

    storage: Storage
    recorded: Capture
    used: Place


@dataclass(slots=True, kw_only=True)
class Called(Event):
    """A callable that matters to rules is called: compiled functions, optimizers, modules, autograd.

    `way` are the undecided tests that led to a place where gradients are dropped.
    """

    what: str
    target: Value
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    data: Any = None
    way: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Advance:
    """What a write in place that goes on from the old value was part of: the step and the calls around it."""

    step: int
    calls: tuple[Place, ...]


@dataclass(slots=True, kw_only=True)
class Displaced(Event):
    """A cell that captured code fills names something else when eager code reads it after a replay.

    `cleared` tells that it is None.
    """

    name: str
    captured: Place
    written: Place
    cleared: bool = False


@dataclass(slots=True, kw_only=True)
class StateLeft(Event):
    """Captured code carries state to new memory at the place; each replay starts again from the old."""

    name: str
    read: Place
    replayed: Place


@dataclass(slots=True, kw_only=True)
class InputIgnored(Event):
    """A call replays a graph that an earlier call has captured, and does nothing with its own argument."""

    name: str
    captured: Place


@dataclass(slots=True, kw_only=True)
class InputDerived(Event):
    """A graph reads what a warm-up has computed at the place from inputs that change before a replay.

    `weights` tells that it was computed from weights, which have been loaded anew.
    """

    name: str
    replayed: Place
    weights: bool = False


@dataclass(slots=True, kw_only=True)
class StreamEscaped(Event):
    """Captured code issues work to a stream that takes no part in the capture; the place is its `with`."""

    stream: Obj


@dataclass(slots=True, kw_only=True)
class StreamUnjoined(Event):
    """A capture ends although a stream that forked from it has work that nobody waited for."""


@dataclass(slots=True, kw_only=True)
class CaptureGuarded(Event):
    """An exception handler around captures goes on as if they had not been tried; the place is its type."""

    guarded: list[Capture]


@dataclass(slots=True, kw_only=True)
class Race(Event):
    """Two pieces of work touch the same memory, and nothing says which comes first.

    `kind` says what: the `same-graph` or graphs of the `same-pool` replayed, an `input` written, an `output`
    read, a reader of it `overwritten` by a replay, host memory read (`host-read`) or written (`host-write`)
    by Python. `earlier` is where the other work began.
    """

    kind: str
    earlier: Place
    stream: Obj | None = None


@dataclass(slots=True, kw_only=True)
class OutsideWait(Event):
    """A stream of the capture waits for work that is not part of the capture."""

    stream: Obj


@dataclass(slots=True, kw_only=True)
class SideEffect(Event):
    """Host state written by captured Python that eager code also uses between replays."""

    name: str
    read: Place | None
    reason: str


@dataclass(slots=True, kw_only=True)
class HostWork(Event):
    """Captured code computes a tensor on the host from memory that changes, and replays use the result.

    `read` is where eager code reads a tensor that captured code moves on, None for a result that is recorded.
    """

    read: Place | None = None


@dataclass(slots=True, kw_only=True)
class LoopStarted(Event):
    """A `for` loop over `iterable`; `values` are the known elements in order, if any."""

    iterable: Value
    captures: bool = False
    data: Any = None
