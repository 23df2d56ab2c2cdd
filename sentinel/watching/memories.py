"""Storages by number: each lives once, and its end is told."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch

_address = getattr(torch._C, "_data_address", None)


class Memory:
    """One storage from allocation to end. Nothing here keeps it alive."""

    __slots__ = ("base", "number", "reference", "size")

    def __init__(self, number: int, base: int, size: int, reference: weakref.ref[Any]) -> None:
        self.number, self.base, self.size, self.reference = number, base, size, reference

    @property
    def alive(self) -> bool:
        return self.reference() is not None


class Memories:
    """The storages that matter to some graph."""

    def __init__(self, here: Callable[[], int] = lambda: -1) -> None:
        self.freed: deque[tuple[int, int]] = deque()  # numbers, in the order of their ends, and where it came
        self._here = here  # the number of the line that the program is at
        self.outputs: set[int] = set()  # the numbers of those that a graph made
        self._by_base: dict[int, Memory] = {}
        self._next = 0

    def of(self, tensor: torch.Tensor) -> Memory | None:
        """The memory under a tensor; None where it has none, as in wrappers."""
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            try:
                storage = tensor.untyped_storage()
                base, size = storage.data_ptr(), storage.nbytes()
            except (RuntimeError, NotImplementedError):
                return None
        if not base:
            return None
        known = self._by_base.get(base)
        if known is not None and known.reference() is storage:
            return known
        return self._new(storage, base, size)

    def living(self) -> Iterator[Memory]:
        """What is known and not gone."""
        return (memory for memory in list(self._by_base.values()) if memory.alive)

    def at(self, base: int) -> Memory | None:
        """The living memory that begins at an address, if it is known."""
        known = self._by_base.get(base)
        return known if known is not None and known.alive else None

    def lost(self, base: int, size: int) -> Memory:
        """Memory that was gone before anybody could look."""
        memory = Memory(self._number(), base, size, _dead)
        self.freed.append((memory.number, -1))
        return memory

    def _new(self, storage: Any, base: int, size: int) -> Memory:
        number, freed, here = self._number(), self.freed, self._here
        memory = Memory(number, base, size, weakref.ref(storage, lambda _: freed.append((number, here()))))
        self._by_base[base] = memory
        return memory

    def _number(self) -> int:
        self._next += 1
        return self._next


address = _address if _address is not None else lambda tensor: base_of(tensor)  # of a tensor with a storage


def base_of(tensor: torch.Tensor) -> int:
    """Where the storage of a tensor begins, 0 where it has none."""
    try:
        if _address is not None:
            return int(_address(tensor))
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0


def every_tensor() -> list[torch.Tensor]:
    """Every tensor that Python knows."""
    return _tensors_among(gc.get_objects())


def young_tensors() -> list[torch.Tensor]:
    """Those that were made since the garbage collector was at work, which takes no time to tell."""
    return _tensors_among(gc.get_objects(generation=0))


def _tensors_among(objects: list[Any]) -> list[torch.Tensor]:
    is_one = _kinds(torch.Tensor).__contains__
    return list(itertools.compress(objects, map(is_one, map(type, objects))))


def _kinds(kind: type) -> set[type]:
    found = {kind}
    below: type
    for below in type.__subclasses__(kind):
        found |= _kinds(below)
    return found


class _Gone:
    pass


_dead: weakref.ref[Any] = weakref.ref(_Gone())
