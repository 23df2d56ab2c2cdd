"""What comes after what: a vector clock for each stream, for each recorded event, and for the host."""

from __future__ import annotations

from collections.abc import Iterable

Clock = dict[int, int]  # of each stream, how much of its work is known to come before


class Clocks:
    """Streams are given work in turn; edges between them are events that one records and another waits
    for."""

    def __init__(self) -> None:
        self._streams: dict[int, Clock] = {}
        self._events: dict[int, Clock] = {}
        self._host: Clock = {}

    def issue(self, stream: int) -> int:
        """Give a stream work; its position in the stream's order. What the host waited for comes before
        it."""
        clock = self._of(stream)
        _join(clock, self._host)
        clock[stream] += 1
        return clock[stream]

    def next_position(self, stream: int) -> int:
        """The position that the next work of a stream will have."""
        return self._of(stream)[stream] + 1

    def before(self, stream: int, other: int, position: int) -> bool:
        """Whether what a stream is given next comes after a position of another one."""
        return max(self._of(stream).get(other, 0), self._host.get(other, 0)) >= position

    def before_host(self, stream: int, position: int) -> bool:
        """Whether the host has waited for a position of a stream."""
        return self._host.get(stream, 0) >= position

    def record(self, event: int, stream: int) -> None:
        """An event marks what a stream has been given so far."""
        clock = self._of(stream)
        _join(clock, self._host)
        self._events[event] = dict(clock)

    def wait(self, stream: int, event: int) -> None:
        """A stream waits for an event."""
        _join(self._of(stream), self._events.get(event, {}))

    def synchronise(self, stream: int | None = None, event: int | None = None) -> None:
        """The host waits for an event, a stream, or everything."""
        if event is not None:
            _join(self._host, self._events.get(event, {}))
        elif stream is not None:
            _join(self._host, self._of(stream))
        else:
            for clock in list(self._streams.values()):
                _join(self._host, clock)

    def align(self, streams: Iterable[int]) -> None:
        """What these streams are given next comes after all that they have been given so far."""
        clocks = [self._of(stream) for stream in streams]
        for clock in clocks:
            for other in clocks:
                _join(clock, other)

    def forget(self, event: int) -> None:
        """An event is gone."""
        self._events.pop(event, None)

    def _of(self, stream: int) -> Clock:
        clock = self._streams.get(stream)
        if clock is None:
            clock = self._streams[stream] = {stream: 0}
        return clock


def _join(into: Clock, other: Clock) -> None:
    for stream, position in other.items():
        if into.get(stream, 0) < position:
            into[stream] = position
