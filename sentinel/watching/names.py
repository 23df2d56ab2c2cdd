"""The names of a graph's inputs, looked up again before each replay."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from types import CoroutineType, FrameType, GeneratorType
from typing import Any

import torch

from graphlint.sentinel.core.events import Name, NameMoved, Now
from graphlint.sentinel.watching.memories import Memory, base_of, every_tensor
from graphlint.sentinel.watching.slots import MISSING, Slot

_LASTING = ("attribute", "item", "parameter", "global")


class Named:
    """An input and every place that names it."""

    def __init__(self, memory: Memory, slots: list[tuple[torch.Tensor, Slot]], first: int) -> None:
        self.memory = memory
        self.slots = [
            (Name(first + at, slot.text, slot.kind), slot, weakref.ref(tensor))
            for at, (tensor, slot) in enumerate(slots)
        ]
        self._likeness = [(tensor.shape, tensor.dtype) for tensor, _ in slots]

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(name for name, _, _ in self.slots)

    def moved(self) -> Iterator[tuple[Name, Now]]:
        """The names that lead somewhere else, and where."""
        for at, (name, slot, before) in enumerate(self.slots):
            value = slot.look()
            now = self._where(value, before(), self._likeness[at])
            if now is not None:
                yield name, now

    def _where(self, value: Any, before: Any, likeness: Any) -> Now | None:
        if value is MISSING or not issubclass(type(value), torch.Tensor):
            return "nothing"
        base = base_of(value)
        if base == self.memory.base and self.memory.alive:
            return None
        if value is before:
            return "swapped" if base else None
        return "alike" if (value.shape, value.dtype) == likeness and value.is_cuda else "other"

    def kept(self, moved: set[int]) -> bool:
        """Whether something lasting still leads to the input, known at capture or not."""
        for name, _, _ in self.slots:
            if name.number not in moved and name.kind in _LASTING:
                return True
        living = tensors_on(self.memory)
        return any(_lastingly_held(tensor, living) for tensor in living)


def moves(graph: int, names: list[Named]) -> Iterator[NameMoved]:
    """What has to be said about the names of a graph's inputs before a replay."""
    for named in names:
        found = list(named.moved())
        if not any(now in ("alike", "swapped", "other") for _, now in found):
            continue
        kept = named.memory.alive and named.kept({name.number for name, _ in found})
        for name, now in found:
            yield NameMoved(graph, named.memory.number, name, now, kept)


def tensors_on(memory: Memory) -> list[torch.Tensor]:
    """The living tensors that lie on a storage."""
    return [tensor for tensor in every_tensor() if base_of(tensor) == memory.base]


def _lastingly_held(tensor: torch.Tensor, apart_from: object) -> bool:
    """Whether more than locals of running functions hold a tensor."""
    return any(
        holder is not apart_from and type(holder) not in _RUNNING for holder in gc.get_referrers(tensor)
    )


_RUNNING = (FrameType, GeneratorType, CoroutineType)
