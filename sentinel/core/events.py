"""What is seen of a program, told by adapters to the machine in the order in which it happened.

Everything is a number: a graph is the ordinal of its capture, a *memory* the serial number of one storage
from its allocation to its end, a stream and a thread what their runtime calls them. Addresses are only
compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from graphlint.sentinel.findings import Stack

Kind = Literal["attribute", "item", "parameter", "gradient", "global", "local", "argument"]
Now = Literal["nothing", "other", "alike", "swapped"]

LASTING: tuple[Kind, ...] = ("attribute", "item", "parameter", "global")  # names that outlive a call


@dataclass(frozen=True, slots=True)
class Name:
    """A way in which the program names a tensor; `number` tells the names of one graph apart."""

    number: int
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Input:
    """Memory from outside that a graph reads or writes.

    `sure` is False where an address was found that may be a leftover; `host` is pinned memory of the host.
    `pooled` is memory of a graph pool, which an earlier graph fills. `read` is where the first operation that
    reads it stands, if that was seen.
    """

    memory: int
    address: int
    size: int
    names: tuple[Name, ...] = ()
    read: Stack = ()
    sure: bool = True
    host: bool = False
    pooled: bool = False
    written: bool = False
    cleared: bool = False  # the graph overwrites it before it reads any of it
    cast: bool = False  # autocast's cache holds it: a weight that was cast before the capture

    @property
    def adds(self) -> bool:
        """Whether it is a gradient that the graph adds to."""
        return self.written and not self.cleared and any(name.kind == "gradient" for name in self.names)

    @property
    def shown(self) -> str:
        """What a message calls it."""
        if self.names:
            return f"`{self.names[0].text}`"
        return f"{'pinned memory' if self.host else 'a tensor'} of {self.size} bytes"


@dataclass(frozen=True, slots=True)
class Output:
    """Memory of the graph's own pool that the program holds when the capture ends."""

    memory: int
    address: int
    size: int
    names: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class CaptureEnded:
    """A capture came to an end; `ranges` are the (start, end) of pool memory that the graph writes.

    `knows_writes` is False where it is not known which inputs the graph writes; `by_library` is True where
    a function of torch, and not the program, has opened it among others, `compiled` where the compiler has.
    """

    graph: int
    pool: int
    stack: Stack
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()
    knows_writes: bool = True
    by_library: bool = False
    compiled: bool = False


@dataclass(frozen=True, slots=True)
class GraphGone:
    """A graph was reset or collected."""

    graph: int


@dataclass(frozen=True, slots=True)
class MemoryFreed:
    """Nothing holds a storage any more; `site` is where the last that held it let go, if that was seen."""

    memory: int
    site: int = -1


@dataclass(frozen=True, slots=True)
class NameMoved:
    """When a graph is about to be replayed, a name of one of its inputs no longer leads to it.

    `now` says what it leads to: nothing, a tensor of another shape or type, one that the graph could have
    read instead, or, if the tensor is the same object as before, new memory under it (`swapped`). `kept`
    says that something else still holds the input, other than locals of running functions.
    """

    graph: int
    memory: int
    name: Name
    now: Now
    kept: bool


@dataclass(slots=True)
class InputsWritten:
    """When a graph is about to be replayed, these of its inputs were written in place since its last replay.
    It is told before every replay or before none; writes that `Written` tells need not be among them."""

    graph: int
    memories: tuple[int, ...]


@dataclass(slots=True)
class Replayed:
    """A graph is about to be replayed; `site` is the number of the place."""

    graph: int
    stream: int
    thread: int
    site: int


@dataclass(frozen=True, slots=True)
class CallFailed:
    """Something raised an error inside an open capture, which is `lost` with it or goes on without the call.

    `what` is how the program would write it; `text` the first line of the error; `formatting` says that a
    tensor was being printed; `other` that another thread did it than the capturing one.
    """

    capture: int
    call: int
    operation: str
    what: str
    text: str
    lost: bool
    stack: Stack
    formatting: bool = False
    other: bool = False


@dataclass(frozen=True, slots=True)
class WorkEscaped:
    """While a capture was open on this thread, work went to a stream that is no part of it."""

    capture: int
    what: str
    stack: Stack


@dataclass(frozen=True, slots=True)
class CaptureClosed:
    """An open capture came to its end: as a graph, or lost (`graph` is 0).

    `left` are the failed calls whose error left the captured code; `stuck` says that the random number
    generator cannot be used any more.
    """

    capture: int
    graph: int
    stack: Stack
    left: tuple[int, ...] = ()
    stuck: bool = False


@dataclass(slots=True)
class EventRecorded:
    """An event marks what a stream has been given so far."""

    event: int
    stream: int


@dataclass(slots=True)
class EventAwaited:
    """What a stream is given from now on comes after an event."""

    event: int
    stream: int


@dataclass(slots=True)
class Synchronised:
    """The host has waited for a stream, an event, or, with neither, for everything."""

    stream: int | None = None
    event: int | None = None


@dataclass(slots=True)
class BackwardBegan:
    """A backward pass is asked for on a stream."""

    stream: int


@dataclass(slots=True)
class BackwardEnded:
    """A backward pass that was asked for on a stream is over."""

    stream: int


@dataclass(slots=True)
class OutputHeld:
    """When a graph is about to be replayed, so many tensors and references lead to an output of it. Not told
    while the number stays what it is."""

    graph: int
    memory: int
    holders: int
    together: int = 0  # how often one list or the like has it, if that was looked for


@dataclass(slots=True)
class Taken:
    """A new tensor lies on memory of a graph; `parent` is the tensor that it was made from, if that was
    seen."""

    alias: int
    memory: int
    parent: int | None
    site: int


@dataclass(slots=True)
class Read:
    """Eager code reads memory of a graph on a stream, through a tensor that one argument has `repeated`
    times."""

    memory: int
    alias: int
    stream: int
    site: int
    repeated: int = 1


@dataclass(slots=True)
class ReadAsOld:
    """Eager code reads an output through a local that was assigned before the last replay of its graph."""

    memory: int
    name: str
    generation: int
    site: int


@dataclass(slots=True)
class ReadInstead:
    """Eager code reads, under a name that an output had at capture, another tensor that was given the name
    before the last replay."""

    graph: int
    name: str


@dataclass(slots=True)
class Written:
    """Eager code writes memory of a graph on a stream. `misfit` says what a copy did to make the source
    fit."""

    memory: int
    stream: int
    site: int
    misfit: str = ""


@dataclass(slots=True)
class SentToHost:
    """A copy into host memory was issued and not waited for; `source` is the memory of a graph it comes
    from."""

    host: int
    source: int
    stream: int
    site: int


@dataclass(slots=True)
class SentFromHost:
    """A copy from pinned memory into memory of a graph was issued and not waited for."""

    host: int
    target: int
    stream: int
    site: int


@dataclass(slots=True)
class WrittenInCapture:
    """While a graph was captured, the host wrote pinned memory after a copy that reads it had been
    recorded."""

    graph: int
    site: int


@dataclass(slots=True)
class HostRead:
    """The host reads its own memory."""

    host: int
    site: int


@dataclass(slots=True)
class HostWritten:
    """The host writes its own memory."""

    host: int
    site: int


Event = (
    CaptureEnded
    | GraphGone
    | MemoryFreed
    | NameMoved
    | InputsWritten
    | Replayed
    | EventRecorded
    | EventAwaited
    | Synchronised
    | BackwardBegan
    | BackwardEnded
    | OutputHeld
    | Taken
    | Read
    | ReadAsOld
    | ReadInstead
    | Written
    | SentToHost
    | SentFromHost
    | WrittenInCapture
    | HostRead
    | HostWritten
    | CallFailed
    | WorkEscaped
    | CaptureClosed
)
