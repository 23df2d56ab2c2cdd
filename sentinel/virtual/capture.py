"""A capture while it is open: which streams are part of it, what they have recorded, whether it is still
valid."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.streams import Event, Order, Stream
from graphlint.sentinel.virtual.tape import Step

if TYPE_CHECKING:
    from graphlint.sentinel.virtual.rng import Philox


class Join(Step):
    """A place in a stream of a graph that comes after places in other streams of it."""

    __slots__ = ("clock",)

    def __init__(self, clock: dict[int, int]) -> None:
        self.clock = clock

    def run(self) -> None:
        return None


class Capture:
    """Opened on one stream, joined by every stream that waits for an event of it."""

    def __init__(self, origin: Stream, pool: int, mode: str) -> None:
        self.origin = origin
        self.pool = pool
        self.mode = mode
        self.thread = threading.get_ident()
        self.invalid = False
        self.open = True
        self.tape: list[Step] = []
        self.clocks: dict[int, dict[int, int]] = {origin.number: {origin.number: 0}}
        self.streams = [origin]
        self.draws: dict[Philox, int] = {}
        origin.capture = self

    def record(self, stream: Stream, step: Step) -> None:
        """Append a step of one of the capture's streams."""
        if self.invalid:
            raise errors.cuda_error(errors.INVALIDATED)
        stream.used = True
        clock = self.clocks[stream.number]
        clock[stream.number] += 1
        step.stream, step.position = stream.number, clock[stream.number]
        self.tape.append(step)

    def wait(self, stream: Stream, event: Event) -> None:
        """A stream of the program waits for an event recorded in this capture: it becomes part of it."""
        if stream.number == 0:
            raise self.fail(errors.IMPLICIT)
        if stream.capture is None:
            stream.capture = self
            self.streams.append(stream)
            self.clocks[stream.number] = {stream.number: 0}
        clock = self.clocks[stream.number]
        for number, position in event.clock.items():
            clock[number] = max(clock.get(number, 0), position)
        step = Join(dict(event.clock))
        step.stream, step.position = stream.number, clock[stream.number]
        self.tape.append(step)

    def fail(self, text: str) -> RuntimeError:
        """The error of a call that may not be captured; the capture is lost with it."""
        return self.lose(errors.cuda_error(text))

    def lose(self, error: RuntimeError) -> RuntimeError:
        """The same with an error that is no error of the runtime."""
        if self.invalid:
            return errors.cuda_error(errors.INVALIDATED)
        self.invalid = True
        return error

    def close(self) -> None:
        """End it: every stream leaves. Raises what the device says to an invalid or unjoined capture."""
        self.open = False
        for stream in self.streams:
            stream.capture = None
        if self.invalid:
            raise errors.cuda_error(errors.INVALIDATED)
        seen = self.clocks[self.origin.number]
        if any(clock[number] > seen.get(number, 0) for number, clock in self.clocks.items()):
            raise errors.cuda_error(errors.UNJOINED)


def ordered(tape: list[Step], origin: int, order: Order) -> list[Step]:
    """The recorded work in one of the orders that its edges allow.

    As it was issued; late, the origin's stream first; or one stream at once and the others late.
    """
    if order in ("early", "lagging"):
        return [step for step in tape if not isinstance(step, Join)]
    queues: dict[int, list[Step]] = {}
    for step in tape:
        queues.setdefault(step.stream, []).append(step)
    done: list[Step] = []
    for number in dict.fromkeys([order if isinstance(order, int) else origin, origin, *queues]):
        _advance(queues, number, None, done)
    return done


def _advance(queues: dict[int, list[Step]], number: int, upto: int | None, done: list[Step]) -> None:
    queue = queues.get(number, [])
    while queue and (upto is None or queue[0].position <= upto):
        step = queue.pop(0)
        if isinstance(step, Join):
            for other, position in step.clock.items():
                if other != number:
                    _advance(queues, other, position, done)
        else:
            done.append(step)
