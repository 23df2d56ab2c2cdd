"""Address ranges that make memory belong to the device, or be pinned: memory is what its address says.

An arena is one reserved range of virtual addresses. A *block* handed out from it is a ctypes array over that
range; torch's storage keeps the array alive, so its end is the end of the storage, whoever held it last. The
ends are collected in a graveyard, because Python may find garbage while the allocator is at work, and buried
when the allocator is next asked.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections import deque
from typing import Any

ALIGNMENT = 512
POISON = 0xFF
_LEAST = 1 << 30
_POISONED_AT_MOST = 64 << 20  # of a larger block only the beginning is: touching all of it would cost seconds


_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0  # the mmap module names it since Python 3.13


def _reserved(size: int) -> tuple[mmap.mmap, int]:
    while True:
        try:
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE), size
        except OSError:
            if size <= _LEAST:
                raise
            size //= 2


class Arena:
    """A range of addresses. Pages cost nothing until they are written."""

    def __init__(self, size: int) -> None:
        self._map, self.size = _reserved(size)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.end = self.base + size
        self.graveyard: deque[int] = deque()
        self._types: dict[int, Any] = {}

    def __contains__(self, address: int) -> bool:
        return self.base <= address < self.end

    @property
    def buffer(self) -> mmap.mmap:
        """All of it, as something that torch can lay a storage over."""
        return self._map

    def block(self, address: int, size: int) -> Any:
        """A buffer over `size` bytes whose end is noted in the graveyard."""
        kind = self._types.get(size) or self._new_type(size)
        return kind.from_address(address)

    def _new_type(self, size: int) -> Any:
        bury = self.graveyard.append
        where = ctypes.addressof

        def gone(block: Any) -> None:
            bury(where(block))

        kind = type("Block", (ctypes.c_uint8 * size,), {"__del__": gone})
        self._types[size] = kind
        return kind


def poison(address: int, size: int) -> None:
    """Fill memory with what reads as NaN, -1 and 255."""
    ctypes.memset(address, POISON, min(size, _POISONED_AT_MOST))
