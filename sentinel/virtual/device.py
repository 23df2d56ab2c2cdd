"""The device's state: memory, streams, captures, generators, and what may be called while one is open."""

from __future__ import annotations

import itertools
import threading
import warnings

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.capture import Capture
from graphlint.sentinel.virtual.rng import VirtualGenerator
from graphlint.sentinel.virtual.streams import Event, Order, Stream, Wait

_SIDE_STREAMS = 32  # torch hands out its pool of side streams in turn
_pools = itertools.count(1)  # of all devices: memory outlives a device, and no pool is another's


class Device:
    """Everything that a program can change about the device, apart from memory contents."""

    def __init__(self, order: Order = "early", poisons: bool = True) -> None:
        self.order = order
        self.poisons = poisons
        self.default_stream = Stream(0, order)
        self.streams: dict[int, Stream] = {0: self.default_stream}
        self.captures: list[Capture] = []
        self.pools = _pools
        self.generator = VirtualGenerator("cuda")
        self.sync_debug = 0
        self.warm: set[str] = set()
        self._local = threading.local()
        self._next_side = itertools.count()

    # Streams.

    @property
    def current(self) -> Stream:
        stream: Stream = getattr(self._local, "stream", self.default_stream)
        return stream

    @current.setter
    def current(self, stream: Stream) -> None:
        self._local.stream = stream

    def side_stream(self, priority: int = 0) -> Stream:
        """One of the pool of side streams, in turn, as torch does it."""
        number = next(self._next_side) % _SIDE_STREAMS + 1 + (100 if priority < 0 else 0)
        return self.stream(number, priority)

    def stream(self, number: int, priority: int = 0) -> Stream:
        """The stream of a number."""
        found = self.streams.get(number)
        if found is None:
            found = self.streams[number] = Stream(number, self.order, priority)
        return found

    def wait(self, stream: Stream, event: Event) -> None:
        """The edge from an event to whatever the stream is given next."""
        if event.stream is None:
            return
        if event.capture is not None and event.capture in self.captures:
            if stream.capture is not None and stream.capture is not event.capture:
                raise stream.capture.fail(errors.ISOLATION)
            event.capture.wait(stream, event)
            return
        if stream.capture is not None:
            if event.external:
                return
            raise stream.capture.fail(errors.ISOLATION)
        if stream is event.stream:
            return
        if stream.deferring:
            stream.submit(Wait(event.stream, event.position))
        else:
            event.stream.advance(event.position)

    # Calls that wait for the device.

    def synchronize(self) -> None:
        """Wait for everything; refused by any capture, on whatever thread it is open."""
        for capture in self.captures:
            raise capture.fail(errors.UNSUPPORTED)
        for stream in list(self.streams.values()):
            stream.finish()

    def wait_for(self, stream: Stream) -> None:
        """Wait for a stream, as reading a value on the host does."""
        self.note_synchronisation()
        if stream.capture is not None:
            raise stream.capture.fail(errors.UNSUPPORTED)
        self.unsafe()
        stream.finish()

    def note_synchronisation(self) -> None:
        """What `torch.cuda.set_sync_debug_mode` asks for."""
        if self.sync_debug == 1:
            warnings.warn(errors.SYNC_DEBUG, stacklevel=4)
        elif self.sync_debug == 2:
            raise RuntimeError(errors.SYNC_DEBUG)

    def unsafe(self, *, allowed_to_owner: bool = False) -> None:
        """A call that captures forbid: global ones to every thread, thread-local ones to their own."""
        me = threading.get_ident()
        for capture in self.captures:
            mine = capture.thread == me
            if mine and allowed_to_owner:
                continue
            if capture.mode == "global" or (capture.mode == "thread_local" and mine):
                raise capture.fail(errors.UNSUPPORTED)

    # Captures.

    def begin(self, pool: int, mode: str) -> Capture:
        """Open a capture on the current stream."""
        stream = self.current
        if stream is self.default_stream:
            raise RuntimeError(errors.DEFAULT_STREAM)
        if stream.capture is not None:
            raise stream.capture.fail(errors.UNSUPPORTED)
        capture = Capture(stream, pool, mode)
        self.captures.append(capture)
        return capture

    def end(self, capture: Capture) -> None:
        """Close it; raises if it came to nothing."""
        self.captures.remove(capture)
        capture.close()

    def pageable_copy(self) -> None:
        """A copy from or to ordinary host memory: refused while capturing, though the capture survives."""
        if self.current.capture is not None:
            if self.current.capture.invalid:
                raise errors.cuda_error(errors.INVALIDATED)
            raise RuntimeError(errors.PAGEABLE)
        self.unsafe()


_current: Device | None = None


def device() -> Device:
    """The device in use."""
    if _current is None:
        raise RuntimeError("there is no virtual CUDA device: use it inside `with virtual_cuda():`")
    return _current


def use(new: Device | None) -> Device | None:
    """Make `new` the device in use and return the one before."""
    global _current
    before, _current = _current, new
    return before


def active() -> bool:
    """Whether a virtual device is in use."""
    return _current is not None
