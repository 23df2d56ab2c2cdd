"""Between the patched calls and the machine: which graphs there are, and what is asked before each replay."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.core.checks import CHECKS
from graphlint.sentinel.core.machine import Machine, State
from graphlint.sentinel.findings import Finding
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.accesses import Access, Recording, pool_number
from graphlint.sentinel.watching.collector import Collecting
from graphlint.sentinel.watching.companions import Companion, aside, is_aside, overriding
from graphlint.sentinel.watching.memories import Memories, Memory
from graphlint.sentinel.watching.names import Watchlist
from graphlint.sentinel.watching.reading import Captured, read
from graphlint.sentinel.watching.records import Record
from graphlint.sentinel.watching.slots import Slot
from graphlint.sentinel.watching.streams import current_stream
from graphlint.sentinel.watching.versions import Versions

if TYPE_CHECKING:
    from graphlint.sentinel.session import Watch
    from graphlint.sentinel.settings import Mode
    from graphlint.sentinel.trials.writes import Writes
    from graphlint.sentinel.watching.reads import Reads


class Observer:
    """Turns what adapters see into events, and hands the findings to whoever watches."""

    def __init__(self, recording: Recording, watches: list[Watch]) -> None:
        self.recording = recording
        self.sites = places.Sites()
        self.memories = Memories(self._let_go)
        self.machine = Machine(State(places.here, self.sites.stack, recording.busy), CHECKS)
        self.watches = watches
        self.reads: Reads | None = None  # in mode "test"
        self.listeners: list[Callable[[Captured, int], None]] = []  # are told of each graph
        self.collecting = Collecting()
        self.companions: list[Companion] = [self.collecting]
        self.called: Any = None  # the call of a wrapped runner that is going on
        self._before_replays: list[Callable[[Any, int], None]] = []
        self._in_calls: list[Callable[[Any, int], None]] = []
        self._after_replays: list[Callable[[Any, int], None]] = []
        self.written: dict[int, Writes] = {}  # by operations of a graph that is being captured
        self.accused: set[int] = set()  # graphs of which something was found
        self.counts = [0, 0]  # captures, replays
        self._lock = threading.RLock()
        self._local = threading.local()
        self._records: dict[int, Record] = {}
        self._gone: list[int] = []  # graphs that were collected, perhaps in the middle of something

    def add(self, companions: list[Companion]) -> None:
        """Have these told as well."""
        self.companions += companions
        alone = [companion for companion in self.companions if not companion.only_in_calls]
        self._in_calls = overriding(self.companions, "replaying")
        self._before_replays = overriding(alone, "replaying")
        self._after_replays = overriding(self.companions[::-1], "replayed")

    # Captures.

    def begun(self, graph: Any) -> None:
        """A capture has begun on this thread."""
        self._local.capturing = True
        self._local.collected = self.collecting.times
        with self._lock:
            self.recording.begin(graph)
        for companion in self.companions:
            companion.begun(graph)

    def ending(self, graph: Any) -> list[Access]:
        """A capture is about to end: what is recorded can be read only now."""
        for companion in self.companions:
            companion.ending(graph)
        with self._lock, aside():
            return self.recording.end(graph)

    def ended(self, graph: Any, accesses: list[Access]) -> None:
        """It has ended well."""
        self._local.capturing = False
        with self._lock:
            pool = pool_number(graph.pool())
            all_young = self._local.collected == self.collecting.times
            with aside():
                seen = self.written.get(id(graph))
                captured = read(self.recording, accesses, pool, self.memories, seen, all_young)
            record = Record()
            self.counts[0] += 1
            record.captured, record.names = captured, Watchlist(captured.names)
            if self.mode != "watch":
                record.versions = Versions(captured.names)
            self._remember(graph, record)
            self.tell(captured.event(record.number, pool, places.here()))
            if captured.unowned:
                self.miss("inputs of a graph that no tensor known to Python lies on")
            for listener in self.listeners:
                listener(captured, record.number)
        for companion in self.companions:
            companion.ended(graph, record.number)

    def lost(self, graph: Any) -> None:
        """It has failed, or never came to its end."""
        self._local.capturing = False
        for companion in self.companions:
            companion.lost(graph)

    def _remember(self, graph: Any, record: Record) -> None:
        key, gone, records = id(graph), self._gone, self._records

        def collected(_: Any) -> None:
            if records.get(key) is record:
                del records[key]
            gone.append(record.number)

        self._records[key] = record
        weakref.finalize(graph, collected, None).atexit = False

    def dropped(self, graph: Any) -> None:
        """The graph was reset."""
        record = self._records.pop(id(graph), None)
        if record is not None:
            self.tell(events.GraphGone(record.number))

    # Replays.

    def replaying(self, graph: Any) -> None:
        """A graph is about to be replayed."""
        record = self._records.get(id(graph))
        if record is None or is_aside():
            return
        with self._lock:
            self.counts[1] += 1
            if self._gone or self.memories.freed:
                self._drain()
            if self.reads is not None and record.captured is not None:
                replays = self.machine.state.graphs[record.number].replays
                self.reads.replaying(record.number, replays, record.captured.kept)
            if self.mode != "watch":
                self.tell(events.InputsWritten(record.number, tuple(record.versions.written())))
            for moved in record.names.moved(record.number, self.reads is not None):
                self.tell(moved)
            event = events.Replayed(record.number, current_stream(), threading.get_ident(), self.sites.here())
            for finding in self.machine.handle(event):
                self.report(finding)
        for tell in self._before_replays if self.called is None else self._in_calls:
            tell(graph, record.number)

    def replayed(self, graph: Any) -> None:
        """Its replay has been issued."""
        record = self._records.get(id(graph))
        if record is not None and not is_aside():
            for tell in self._after_replays:
                tell(graph, record.number)

    def _drain(self) -> None:
        freed = self.memories.freed
        while freed:
            memory, site = freed.popleft()
            self.tell(events.MemoryFreed(memory, site))
            for record in list(self._records.values()):
                record.names.lost(memory)
        while self._gone:
            self.tell(events.GraphGone(self._gone.pop()))

    def tell(self, event: events.Event) -> None:
        """Hand an event to the machine, and what it finds to whoever watches."""
        with self._lock:
            for finding in self.machine.handle(event):
                self.report(finding)

    def memories_of(self, number: int) -> list[Memory]:
        """What a graph reads and writes of memory that programs can name."""
        captured = self._captured(number)
        return list(captured.memories) if captured is not None else []

    def outputs_of(self, number: int) -> list[tuple[Memory, list[weakref.ref[torch.Tensor]]]]:
        """The memory that a graph made, each with the tensors on it when its capture ended."""
        captured = self._captured(number)
        return captured.made if captured is not None else []

    def names_of_outputs(self, number: int) -> dict[int, list[tuple[Slot, weakref.ref[torch.Tensor]]]]:
        """Where the program keeps what a graph made, for longer than a call, by the number of the memory."""
        captured = self._captured(number)
        return {
            named.memory.number: [(slot, tensor) for _, slot, tensor in named.slots]
            for named in (captured.kept if captured is not None else ())
        }

    def _captured(self, number: int) -> Captured | None:
        return next((record.captured for record in self._records.values() if record.number == number), None)

    def _let_go(self) -> int:
        """The line at which memory ends; none where the garbage collector or the sentinel ends it."""
        return -1 if is_aside() or self.collecting.now else self.sites.here()

    def report(self, finding: Finding) -> None:
        """Hand a finding to whoever watches."""
        self.accused.add(finding.graph)
        if self.watches:
            self.watches[-1].add(finding)

    def miss(self, what: str) -> None:
        """Note something that could not be looked at."""
        if self.watches:
            self.watches[-1].miss(what)

    def settle(self) -> None:
        """Somebody asks for the findings."""
        for companion in self.companions:
            companion.settle()

    def finish(self) -> None:
        """Nobody watches any more. Every companion ends, also when one of them fails."""
        with ExitStack() as stack:
            for companion in reversed(self.companions):
                stack.callback(companion.finish)

    @property
    def capturing(self) -> bool:
        """Whether this thread captures, and is not at work for the sentinel."""
        return getattr(self._local, "capturing", False) and not is_aside()

    @contextmanager
    def in_capture(self) -> Iterator[None]:
        """This thread works for a capture that is open in another one."""
        self._local.capturing = True
        try:
            yield
        finally:
            self._local.capturing = False

    @property
    def following(self) -> bool:
        """Whether what this thread does now is the program's own eager work."""
        return not getattr(self._local, "capturing", False) and not is_aside()

    @property
    def mode(self) -> Mode:
        """The mode of the innermost watch."""
        return self.watches[-1].mode if self.watches else "watch"
