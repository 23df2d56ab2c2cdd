"""A caching allocator: segments cut into blocks, best fit, free blocks joined with their neighbours.

It follows torch's own in what programs can notice: sizes are rounded to 512 bytes, small requests share 2 MiB
segments and larger ones 20 MiB or a segment of their own, a freed block goes to the next request of the same
pool and stream that it fits best, and a private pool keeps its segments. No torch in here: addresses are
numbers.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from graphlint.sentinel.virtual.arena import ALIGNMENT

_SMALL = 1 << 20
_SMALL_SEGMENT = 2 << 20
_LARGE_SEGMENT = 20 << 20
_OWN_SEGMENT_FROM = 10 << 20
_ROUND_OWN = 2 << 20


class OutOfMemory(Exception):
    """The arena has no room for a new segment."""


@dataclass(eq=False, slots=True)
class Block:
    address: int
    size: int
    key: tuple[int, int, bool]  # pool, stream, small
    segment: int
    requested: int = 0
    free: bool = False
    before: Block | None = None
    after: Block | None = None
    users: set[int] = field(default_factory=set)  # streams of record_stream


class Allocator:
    """Blocks of one arena. Pool 0 is everybody's; the others are graph pools."""

    def __init__(self, base: int, size: int) -> None:
        self.size = size
        self._free_ranges = [(base, size)]
        self._free: dict[tuple[int, int, bool], list[tuple[int, int]]] = {}
        self.blocks: dict[int, Block] = {}
        self.segments: dict[int, tuple[int, int]] = {}  # address: (size, pool)
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.new_segments = 0

    def take(self, size: int, pool: int, stream: int) -> Block:
        """A block of at least `size` bytes; raises OutOfMemory when no segment can be had."""
        wanted = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        key = (pool, stream, wanted <= _SMALL)
        block = self._best_fit(key, wanted) or self._from_new_segment(key, wanted)
        self._split(block, wanted)
        block.free, block.requested = False, size
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return block

    def would_reserve(self, size: int, pool: int, stream: int) -> bool:
        """Whether taking `size` bytes would have to ask the driver for a segment."""
        wanted = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        free = self._free.get((pool, stream, wanted <= _SMALL), ())
        return bisect_left(free, (wanted, 0)) >= len(free)

    def release(self, address: int) -> Block:
        """Give a block back to its pool, joined with free neighbours."""
        block = self.blocks[address]
        self.allocated -= block.size
        block.free = True
        whole = self._join(block)
        insort(self._free.setdefault(whole.key, []), (whole.size, whole.address))
        return block

    def trim(self, pools: set[int] | None = None) -> None:
        """Return wholly free segments of pool 0, or of `pools`, to the driver."""
        for address, (size, pool) in list(self.segments.items()):
            block = self.blocks.get(address)
            wanted = pool == 0 if pools is None else pool in pools
            if wanted and block is not None and block.free and block.size == size:
                self._free[block.key].remove((block.size, address))
                del self.blocks[address], self.segments[address]
                self.reserved -= size
                self._give_back(address, size)

    def _best_fit(self, key: tuple[int, int, bool], wanted: int) -> Block | None:
        free = self._free.get(key)
        if not free:
            return None
        at = bisect_left(free, (wanted, 0))
        if at == len(free):
            return None
        return self.blocks[free.pop(at)[1]]

    def _from_new_segment(self, key: tuple[int, int, bool], wanted: int) -> Block:
        size = _segment_size(wanted)
        try:
            address = self._reserve(size)
        except OutOfMemory:
            self.trim()
            address = self._reserve(size)
        self.segments[address] = (size, key[0])
        self.reserved += size
        self.new_segments += 1
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        block = self.blocks[address] = Block(address, size, key, address)
        return block

    def _reserve(self, size: int) -> int:
        for at, (address, room) in enumerate(self._free_ranges):
            if room >= size:
                self._free_ranges[at : at + 1] = [(address + size, room - size)] if room > size else []
                return address
        raise OutOfMemory(size)

    def _give_back(self, address: int, size: int) -> None:
        ranges = self._free_ranges
        insort(ranges, (address, size))
        at = 0
        while at + 1 < len(ranges):
            (first, room), (second, more) = ranges[at], ranges[at + 1]
            if first + room == second:
                ranges[at : at + 2] = [(first, room + more)]
            else:
                at += 1

    def _split(self, block: Block, wanted: int) -> None:
        rest = block.size - wanted
        if rest < (ALIGNMENT if block.key[2] else _SMALL + 1):
            return
        block.size = wanted
        tail = Block(block.address + wanted, rest, block.key, block.segment, free=True, before=block)
        tail.after = block.after
        if tail.after:
            tail.after.before = tail
        block.after = tail
        self.blocks[tail.address] = tail
        insort(self._free.setdefault(tail.key, []), (tail.size, tail.address))

    def _join(self, block: Block) -> Block:
        if block.after and block.after.free:
            self._swallow(block, block.after)
        if block.before and block.before.free:
            before = block.before
            self._free[before.key].remove((before.size, before.address))
            self._merge(before, block)
            return before
        return block

    def _swallow(self, block: Block, after: Block) -> None:
        self._free[after.key].remove((after.size, after.address))
        self._merge(block, after)

    def _merge(self, first: Block, second: Block) -> None:
        first.size += second.size
        first.after = second.after
        if second.after:
            second.after.before = first
        del self.blocks[second.address]


def _segment_size(wanted: int) -> int:
    if wanted <= _SMALL:
        return _SMALL_SEGMENT
    if wanted < _OWN_SEGMENT_FROM:
        return _LARGE_SEGMENT
    return -(-wanted // _ROUND_OWN) * _ROUND_OWN
