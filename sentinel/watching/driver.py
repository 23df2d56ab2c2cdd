"""What a capture on a GPU records: the driver's node list, read before the capture ends."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Any

import torch

from graphlint.sentinel.watching.accesses import Access, pool_number
from graphlint.sentinel.watching.libcuda import Driver, Word
from graphlint.sentinel.watching.observer import stream_of


class Nodes:
    """The `Recording` of a GPU. It sees every library's kernels; lines of the program it does not see."""

    def __init__(self) -> None:
        self._driver = Driver()
        self.wholes: frozenset[int] = frozenset()
        self._starts: list[int] = []
        self._segments: list[tuple[int, int, dict[str, Any]]] = []

    def begin(self, graph: Any) -> None:
        """Nothing has to be prepared."""

    def end(self, graph: Any) -> list[Access]:
        stream = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())
        recorded = self._driver.capturing(stream)
        nodes = list(self._driver.nodes(recorded)) if recorded else []
        self._look()
        arguments = (argument for node in nodes for argument in node.arguments)
        return [access for argument in arguments for access in self._accesses(argument)]

    def kernels(self) -> list[str]:
        """The names of what the capture that is open on this stream has recorded so far."""
        stream = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())
        recorded = self._driver.capturing(stream)
        return [node.name for node in self._driver.nodes(recorded)] if recorded else []

    def _look(self) -> None:
        """Take a picture of the allocator: what belongs to which pool, and what is in use."""
        segments = [
            (segment["address"], segment["address"] + segment["total_size"], segment)
            for segment in torch.cuda.memory_snapshot()
        ]
        self._segments = sorted(segments, key=lambda segment: segment[0])
        self._starts = [start for start, _, _ in self._segments]

    def _segment(self, address: int) -> dict[str, Any] | None:
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._segments[at][1]:
            return None
        return self._segments[at][2]

    def _accesses(self, argument: list[Word]) -> Iterator[Access]:
        """The addresses in an argument. They are sure if it holds nothing else: in a structure there may be
        what an earlier call has left."""
        found = [word for word in argument if word.host or self._segment(word.value) is not None]
        sure = len(found) == len(argument)
        for word in found:
            if sure or self.allocated(word.value) or self.pool_of(word.value) != 0:
                yield Access(word.value, word.size, word.reads, word.writes, (), sure, word.host)

    def pool_of(self, address: int) -> int | None:
        segment = self._segment(address)
        return None if segment is None else pool_number(segment.get("segment_pool_id", (0, 0)))

    def allocated(self, address: int) -> bool:
        segment = self._segment(address)
        at = segment["address"] if segment is not None else 0
        for block in segment["blocks"] if segment is not None else ():
            if at <= address < at + block["size"]:
                return str(block["state"]).startswith("active")
            at += block["size"]
        return False

    def busy(self, stream: int) -> bool:
        try:
            return not torch._C._CudaStreamBase.query(stream_of(stream))
        except RuntimeError:
            return False
