"""Streams and events: queues of steps, and the edges between them.

In *early* order a step runs when it is issued, in *lagging* order when the next one of its stream is. In
*late* order it waits in its stream's queue until something demands it: a synchronisation, or another stream
that waits for it and is itself demanded. Where the order is the number of a stream, that one is early and all
others are late: of two steps that no edge orders, the one on the first stream comes first. Taking each stream
in turn therefore runs every such pair in both orders.

Copies from the device into pinned memory land late in either order: when the host synchronises with the
stream.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.tape import Call, Step, quiet

if TYPE_CHECKING:
    from graphlint.sentinel.virtual.capture import Capture


Order = Literal["early", "lagging", "late"] | int


class Stream:
    """One stream of the device. Number 0 is the default stream."""

    def __init__(self, number: int, order: Order, priority: int = 0) -> None:
        self.number = number
        self.priority = priority
        self.handle = 0 if number == 0 else 0x7F0000000000 + number * 0x100
        self.capture: Capture | None = None
        self.issued = 0
        self.used = number == 0  # whether the program has given it work, in a capture or not
        self._late = order != "early" and order != number
        self._behind = 1 if order == "lagging" else None
        self._queue: deque[Step] = deque()
        self._landing: list[tuple[int, Callable[[], None]]] = []

    def submit(self, step: Step) -> None:
        """Issue a step: run it now, or queue it."""
        self.issued += 1
        self.used = True
        step.stream, step.position = self.number, self.issued
        if self._late:
            self._queue.append(step)
            if self._behind is not None:
                self.advance(self.issued - self._behind)
            return
        self._run(step)

    def _run(self, step: Step) -> None:
        before = getattr(_local, "running", None)
        _local.running = self
        try:
            with quiet():
                step.run()
        finally:
            _local.running = before

    def after(self, others: set[int], action: Callable[[], None]) -> None:
        """Do something to memory once this stream, and the others that use it, have come to where they
        are."""
        streams = [stream for stream in map(device_stream, others) if stream.deferring]
        queue = self if self._late else streams.pop() if streams else None
        if queue is None:
            action()
            return
        for stream in streams:
            queue.submit(Wait(stream, stream.issued))
        queue.submit(Call(action))

    def land_later(self, write: Callable[[], None]) -> None:
        """A write to host memory that the host sees once it has synchronised."""
        self._landing.append((self.issued, write))

    def finish(self, position: int | None = None) -> None:
        """Run what is queued, up to a position, and let the copies to the host land."""
        self.advance(position)
        upto = self.issued if position is None else position
        landed = [write for at, write in self._landing if at <= upto]
        self._landing = [(at, write) for at, write in self._landing if at > upto]
        for write in landed:
            write()

    def advance(self, position: int | None = None) -> None:
        """Run what is queued, up to a position."""
        upto = self.issued if position is None else position
        while self._queue and self._queue[0].position <= upto:
            self._run(self._queue.popleft())

    @property
    def busy(self) -> bool:
        return bool(self._queue or self._landing)

    @property
    def deferring(self) -> bool:
        """Whether steps of this stream wait, so that results must be predicted."""
        return self._late


_local = threading.local()


def running() -> Stream:
    """The stream whose step is running on this thread."""
    stream: Stream = _local.running
    return stream


def device_stream(number: int) -> Stream:
    """The stream of a number of the device in use."""
    from graphlint.sentinel.virtual.device import device

    return device().stream(number)


class Wait(Step):
    """Nothing before this point of another stream may come later."""

    __slots__ = ("_other", "_upto")

    def __init__(self, other: Stream, upto: int) -> None:
        self._other, self._upto = other, upto

    def run(self) -> None:
        self._other.advance(self._upto)


class Event:
    """A marker in a stream; recorded inside a capture it marks a place in the graph instead."""

    def __init__(self, timing: bool, external: bool) -> None:
        self.timing = timing
        self.external = external
        self.stream: Stream | None = None
        self.position = 0
        self.time = 0.0
        self.capture: Capture | None = None
        self.clock: dict[int, int] = {}

    @property
    def recorded(self) -> bool:
        return self.stream is not None

    def record(self, stream: Stream) -> None:
        """Mark what the stream has been given so far."""
        if stream.capture is not None and stream.capture.invalid:
            raise errors.cuda_error(errors.INVALIDATED)
        self.stream, self.position, self.time = stream, stream.issued, time.perf_counter()
        self.capture = stream.capture
        self.clock = dict(stream.capture.clocks[stream.number]) if stream.capture else {}

    def finish(self) -> None:
        """Let everything before the marker happen."""
        if self.stream is not None:
            self.stream.finish(self.position)
