"""What a capture on a GPU records: the driver's node list, read before the capture ends."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from typing import Any

import torch

from graphlint.sentinel.watching.accesses import Access, pool_number
from graphlint.sentinel.watching.libcuda import Driver, Node
from graphlint.sentinel.watching.streams import stream_of


class _Segment:
    """A stretch of memory that the allocator has from the device."""

    __slots__ = ("_active", "_blocks", "end", "pool", "start")

    def __init__(self, told: dict[str, Any]) -> None:
        self.start: int = told["address"]
        self.end: int = self.start + told["total_size"]
        self.pool = pool_number(told.get("segment_pool_id", (0, 0)))
        blocks = told["blocks"]
        self._blocks = list(itertools.accumulate((block["size"] for block in blocks), initial=self.start))
        self._active = [str(block["state"]).startswith("active") for block in blocks]

    def allocated(self, address: int) -> bool:
        """Whether somebody holds the block at an address in it."""
        at = bisect.bisect_right(self._blocks, address) - 1
        return 0 <= at < len(self._active) and self._active[at]


class Nodes:
    """The `Recording` of a GPU. It sees every library's kernels; lines of the program it does not see."""

    def __init__(self) -> None:
        self._driver = Driver()
        self.wholes: frozenset[int] = frozenset()
        self._starts: list[int] = []
        self._segments: list[_Segment] = []

    def begin(self, graph: Any) -> None:
        """Nothing has to be prepared."""

    def end(self, graph: Any) -> list[Access]:
        stream = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())
        recorded = self._driver.capturing(stream)
        nodes = list(self._driver.nodes(recorded)) if recorded else []
        self._look()
        found: dict[tuple[Any, ...], Access] = {}  # each once, in the order of the nodes
        for node in nodes:
            for access in self._accesses(node):
                found.setdefault((access.address, access.size, access.writes, access.sure), access)
        return list(found.values())

    def kernels(self) -> list[str]:
        """The names of what the capture that is open on this stream has recorded so far."""
        stream = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())
        recorded = self._driver.capturing(stream)
        return [node.name() for node in self._driver.nodes(recorded)] if recorded else []

    def _look(self) -> None:
        """Take a picture of the allocator: what belongs to which pool, and what is in use."""
        self._segments = sorted(map(_Segment, torch.cuda.memory_snapshot()), key=lambda one: one.start)
        self._starts = [segment.start for segment in self._segments]

    def _segment(self, address: int) -> _Segment | None:
        at = bisect.bisect_right(self._starts, address) - 1
        return self._segments[at] if at >= 0 and address < self._segments[at].end else None

    def _accesses(self, node: Node) -> Iterator[Access]:
        for side in node.sides:
            if side.host or self._segment(side.address) is not None:
                yield Access(side.address, side.size, not side.writes, side.writes, host=side.host)
        low, high = (self._starts[0], self._segments[-1].end) if self._segments else (0, 0)
        for words in node.words:
            near = [word for word in words if low <= word < high]  # most numbers are no addresses
            if near:
                yield from self._addresses(near, len(words))

    def _addresses(self, words: list[int], among: int) -> Iterator[Access]:
        """The addresses in an argument. They are sure if it holds nothing else: in a structure there may be
        what an earlier call has left."""
        found = [word for word in words if self._segment(word) is not None]
        sure = len(found) == among
        for word in found:
            if sure or self.allocated(word) or self.pool_of(word) != 0:
                yield Access(word, 1, reads=True, writes=None, sure=sure)

    def pool_of(self, address: int) -> int | None:
        segment = self._segment(address)
        return None if segment is None else segment.pool

    def allocated(self, address: int) -> bool:
        segment = self._segment(address)
        return segment is not None and segment.allocated(address)

    def busy(self, stream: int) -> bool:
        try:
            return not torch._C._CudaStreamBase.query(stream_of(stream))
        except RuntimeError:
            return False
