"""What runs beside the program while it captures: threads that it started, and loaders that pin batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis.events import StreamEscaped
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.values import Const, Fields, Obj, Value, alternatives
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine

LOADER = "torch.utils.data.DataLoader"
LOADER_ITERATOR = "torch.utils.data.DataLoaderIterator"


@dataclass(slots=True, eq=False)
class ThreadRun:
    """One run of a callable on another thread, from its start to the wait for its end.

    `worker` tells threads apart: the jobs of a pool with one worker share it. `calls` holds, for each CUDA
    call seen in it, the locks that were held there. Times are steps of the machine; `entry` is the call of
    the program's own entry point that started it, `target` runs its code.
    """

    place: Place
    worker: int
    owner: int
    began: int
    entry: Frame | None
    reused: bool = False
    ended: int | None = None
    calls: set[frozenset[int]] = field(default_factory=set)
    waits: list[tuple[Place, frozenset[int]]] = field(default_factory=list)  # for the whole device
    target: Callable[[], object] = lambda: None
    within: Capture | None = None
    work: Place | None = None

    def overlaps(self, other: ThreadRun) -> bool:
        """Whether both run at the same time on threads of their own."""
        if self.worker == other.worker:
            return False
        if self.place.key == other.place.key and self.entry is not other.entry and not self.reused:
            return False  # the same entry method called again: a program starts such a thread once
        first, second = (self, other) if self.began <= other.began else (other, self)
        return first.ended is None or second.began < first.ended

    def calls_outside(self, locks: frozenset[int]) -> bool:
        """Whether it makes a CUDA call while it holds none of `locks`."""
        return any(not held & locks for held in self.calls)


def others_running(m: Machine) -> list[ThreadRun]:
    """The threads that may be at work now beside the one being run."""
    busy = {run.worker for run in m.running}
    here = m.running[-1] if m.running else None
    return [
        run
        for run in m.threads
        if run.ended is None and run.worker not in busy and (here is None or run.overlaps(here))
    ]


def finish_jobs(m: Machine, owner: Obj) -> None:
    """Whoever started jobs on this thread or pool has waited for all of them."""
    for run in m.threads:
        if run.owner == owner.serial and run.ended is None:
            finish(m, run)


def finish(m: Machine, run: ThreadRun) -> None:
    """Somebody has waited for a run: captured code that does so takes its work for a part of the graph."""
    run.ended = m.steps
    if run.work is not None and run.within is m.capture:
        m.emit(StreamEscaped(place=run.work, stream=m.default_stream))


def note_work(m: Machine, place: Place | None) -> None:
    """Remember where a thread that captured code has started works on its own current stream."""
    run = m.running[-1] if m.running else None
    if run is not None and run.within is not None and (not m.streams or m.streams[-1] is m.default_stream):
        run.work = run.work or place


def run_on(m: Machine, run: ThreadRun) -> None:
    """Run the code of a thread: not part of an open capture, on the default stream."""
    kept = m.captures, m.streams, m.contexts, m.foreign
    m.foreign = m.capture or m.foreign
    m.captures, m.streams, m.contexts = [], [], []
    run.within = kept[0][-1] if kept[0] else None
    m.running.append(run)
    try:
        run.target()
    finally:
        m.running.pop()
        m.captures, m.streams, m.contexts, m.foreign = kept


def look_again(m: Machine) -> None:
    """Threads that found nothing to do when they were started may find it now: queues, lists of events."""
    for run in list(m.threads):
        if run.ended is None and not run.calls:
            with m.compiling():
                run_on(m, run)


def held_locks(m: Machine) -> frozenset[int]:
    """The locks whose `with` blocks enclose the present point."""
    return frozenset(context.serial for context in m.contexts if context.cls in operations.listed("locks"))


def note_cuda_call(m: Machine) -> None:
    """Remember that the thread being run calls CUDA here."""
    if m.running:
        m.running[-1].calls.add(held_locks(m))


def note_device_wait(m: Machine, place: Place) -> None:
    """Remember that the thread being run waits for the device here, which no capture mode allows."""
    if m.running:
        m.running[-1].waits.append((place, held_locks(m)))


def note_transfer(m: Machine, method: str) -> None:
    """A method of something unknown is called: only things that hold tensors have these."""
    if method in ("cpu", "cuda", "pin_memory"):
        note_cuda_call(m)


def draw(m: Machine, value: Value) -> None:
    """Somebody starts to iterate over `value`: the threads of a loader live until the loop ends."""
    for part in alternatives(value):
        if isinstance(part, Obj) and part.cls in (LOADER, LOADER_ITERATOR):
            m.loaders.append(part if part.cls == LOADER else part.fields["loader"])


def pinning_loaders(m: Machine) -> list[Obj]:
    """The loaders whose pinning threads are alive now: loops over them, and iterators that names hold."""
    return [loader for loader in (*m.loaders, *_held(m)) if _pins_on_a_thread(loader)]


def _held(m: Machine) -> Iterator[Obj]:
    for frame in m.frames:
        yield from _iterators(frame.env.fields)
        for value in list(frame.env.fields.values()):
            if isinstance(value, Obj) and not isinstance(value.cls, str):
                yield from _iterators(value.fields)


def _iterators(fields: Fields) -> Iterator[Obj]:
    for value in fields.values():
        if isinstance(value, Obj) and value.cls == LOADER_ITERATOR:
            yield value.fields["loader"]


def _pins_on_a_thread(loader: Obj) -> bool:
    """Only a loader with worker processes has a thread for pinning; without them the caller pins."""
    pins, workers = loader.fields.get("?pin_memory"), loader.fields.get("?num_workers")
    if not (isinstance(pins, Const) and pins.value):
        return False
    return workers is not None and not (isinstance(workers, Const) and not workers.value)
