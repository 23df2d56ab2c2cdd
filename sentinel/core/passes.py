"""Backward passes: autograd lets their streams wait for each other where no event of the program tells of it.

Each node runs on the stream of its forward operation and waits for the nodes before it, and when the pass is
over the stream of the caller waits for those of the leaves (PyTorch's notes on CUDA, *Stream semantics of
backward passes*).
"""

from __future__ import annotations

from graphlint.sentinel.core.clocks import Clocks


class BackwardPasses:
    """The streams that take part in the passes that are under way."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._under_way = 0
        self._streams: set[int] = set()

    def begin(self, stream: int) -> None:
        """A pass begins; whoever asks for it is on this stream."""
        self._under_way += 1
        self._streams.add(stream)

    def work(self, stream: int) -> None:
        """A stream is about to be given work, by a node if a pass is under way."""
        if self._under_way:
            self._streams.add(stream)
            self._clocks.align(self._streams)

    def end(self, stream: int) -> None:
        """A pass is over, and this stream waits for what it has done."""
        self.work(stream)
        self._under_way -= 1
        if not self._under_way:
            self._streams.clear()
