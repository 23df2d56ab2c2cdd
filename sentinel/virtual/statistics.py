"""Figures about the device's memory, in the shapes that `torch.cuda.memory` expects."""

from __future__ import annotations

from typing import Any

from graphlint.sentinel.virtual.allocator import Allocator, Block
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tensors import device_memory, pinned_memory


def _allocator() -> Allocator:
    memory = device_memory()
    memory.bury()
    return memory.allocator


def _figure(current: int, peak: int) -> dict[str, dict[str, int]]:
    one = {"current": current, "peak": peak, "allocated": current, "freed": 0}
    nothing = dict.fromkeys(one, 0)
    return {"all": one, "small_pool": dict(nothing), "large_pool": dict(nothing)}


def _statistics(allocator: Allocator) -> dict[str, Any]:
    live = sum(1 for block in allocator.blocks.values() if not block.free)
    requested = sum(block.requested for block in allocator.blocks.values() if not block.free)
    allocated = _figure(allocator.allocated, allocator.peak_allocated)
    return {
        "allocated_bytes": allocated,
        "active_bytes": allocated,
        "requested_bytes": _figure(requested, requested),
        "reserved_bytes": _figure(allocator.reserved, allocator.peak_reserved),
        "inactive_split_bytes": _figure(allocator.reserved - allocator.allocated, 0),
        "allocation": _figure(live, live),
        "active": _figure(live, live),
        "segment": _figure(len(allocator.segments), len(allocator.segments)),
        "inactive_split": _figure(0, 0),
        "oversize_allocations": {"current": 0, "peak": 0, "allocated": 0, "freed": 0},
        "oversize_segments": {"current": 0, "peak": 0, "allocated": 0, "freed": 0},
        "num_alloc_retries": 0,
        "num_ooms": 0,
        "num_sync_all_streams": 0,
        "num_device_alloc": allocator.new_segments,
        "num_device_free": 0,
        "max_split_size": -1,
    }


def _snapshot(*_: Any) -> dict[str, Any]:
    allocator = _allocator()
    segments = [
        _segment(allocator, address, size, pool)
        for address, (size, pool) in sorted(allocator.segments.items())
    ]
    return {"segments": segments, "device_traces": [], "allocator_settings": {}}


def _segment(allocator: Allocator, address: int, size: int, pool: int) -> dict[str, Any]:
    blocks = sorted(
        (block for block in allocator.blocks.values() if block.segment == address), key=lambda b: b.address
    )
    live = sum(block.size for block in blocks if not block.free)
    return {
        "device": 0,
        "address": address,
        "total_size": size,
        "allocated_size": live,
        "active_size": live,
        "requested_size": sum(block.requested for block in blocks if not block.free),
        "stream": device().stream(blocks[0].key[1]).handle,
        "segment_type": "small" if blocks[0].key[2] else "large",
        "segment_pool_id": (0, pool),
        "is_expandable": False,
        "frames": [],
        "blocks": [_block(block) for block in blocks],
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "address": block.address,
        "size": block.size,
        "requested_size": block.requested,
        "state": "inactive" if block.free else "active_allocated",
        "frames": [],
    }


def _reset_peak(_: Any = 0) -> None:
    allocator = _allocator()
    allocator.peak_allocated, allocator.peak_reserved = allocator.allocated, allocator.reserved


_raw: dict[int, Any] = {}


def _raw_alloc(size: int, stream: int = 0) -> int:
    memory = device_memory()
    buffer = memory.take(size, 0, device().current.number)
    from ctypes import addressof

    _raw[addressof(buffer)] = buffer
    return addressof(buffer)


FUNCTIONS: dict[str, Any] = {
    "_cuda_memoryStats": lambda index=0: _statistics(_allocator()),
    "_cuda_resetPeakMemoryStats": _reset_peak,
    "_cuda_resetAccumulatedMemoryStats": lambda index=0: None,
    "_cuda_hostMemoryStats": lambda: _statistics(pinned_memory().allocator),
    "_cuda_resetPeakHostMemoryStats": lambda: None,
    "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
    "_cuda_memorySnapshot": _snapshot,
    "_cuda_getMemoryFraction": lambda index=0: 1.0,
    "_cuda_setMemoryFraction": lambda fraction, index=0: None,
    "_cuda_getAllocatorBackend": lambda: "native",
    "_cuda_cudaCachingAllocator_raw_alloc": _raw_alloc,
    "_cuda_cudaCachingAllocator_raw_delete": lambda address: _raw.pop(address, None),
    "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
    "_cuda_cudaCachingAllocator_enable": lambda value: None,
}
