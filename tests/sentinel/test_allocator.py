"""The caching allocator: sizes, reuse, joining, pools."""

from __future__ import annotations

from graphlint.sentinel.virtual.allocator import Allocator, OutOfMemory

MiB = 1 << 20


def allocator(size: int = 256 * MiB) -> Allocator:
    return Allocator(1 << 40, size)


def test_a_freed_block_goes_to_the_next_request_of_its_size() -> None:
    memory = allocator()
    first = memory.take(1000, 0, 0).address
    memory.release(first)
    assert memory.take(900, 0, 0).address == first


def test_streams_do_not_share_free_blocks() -> None:
    memory = allocator()
    first = memory.take(1000, 0, 0).address
    memory.release(first)
    assert memory.take(1000, 0, 1).address != first


def test_pools_do_not_share_free_blocks() -> None:
    memory = allocator()
    first = memory.take(1000, 1, 0).address
    memory.release(first)
    assert memory.take(1000, 2, 0).address != first
    assert memory.take(1000, 1, 0).address == first


def test_small_requests_share_a_segment_and_large_ones_do_not() -> None:
    memory = allocator()
    for _ in range(100):
        memory.take(512, 0, 0)
    assert memory.reserved == 2 * MiB
    memory.take(30 * MiB, 0, 0)
    assert memory.reserved == 32 * MiB


def test_neighbours_are_joined_so_that_a_segment_can_be_returned() -> None:
    memory = allocator()
    blocks = [memory.take(512, 0, 0).address for _ in range(5)]
    for address in (blocks[1], blocks[3], blocks[2], blocks[0], blocks[4]):
        memory.release(address)
    memory.trim()
    assert (memory.allocated, memory.reserved, memory.blocks) == (0, 0, {})


def test_free_segments_are_returned_before_memory_is_said_to_be_out() -> None:
    memory = allocator(40 * MiB)
    memory.release(memory.take(30 * MiB, 0, 0).address)
    memory.take(39 * MiB, 0, 0)


def test_out_of_memory() -> None:
    memory = allocator(40 * MiB)
    try:
        memory.take(41 * MiB, 0, 0)
    except OutOfMemory:
        return
    raise AssertionError("nothing was raised")


def test_ascending_sizes_in_one_pool_reserve_more_than_descending_ones() -> None:
    def reserved(sizes: list[int]) -> int:
        memory = allocator()
        for size in sizes:
            memory.release(memory.take(size * MiB, 1, 0).address)
        return memory.reserved

    assert reserved([12, 24, 48]) > reserved([48, 24, 12])
