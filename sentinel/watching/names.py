"""The names of a graph's inputs, looked up again before each replay.

A look costs, so that one name of each input is looked at, and of many weights some at each replay, in turn.
Only where that name leads somewhere else are the input's other names asked, and everything that still holds
it.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CoroutineType, FrameType, GeneratorType
from typing import Any

import torch

from graphlint.sentinel.core.events import LASTING, Name, NameMoved, Now
from graphlint.sentinel.watching.memories import Memory, address, base_of, every_tensor
from graphlint.sentinel.watching.runs import MISSING, FrameRoot, stack_locals
from graphlint.sentinel.watching.slots import Found, Slot

_BEST = ("parameter", "attribute", "item", "global", "gradient", "local", "argument")
_ALL_UP_TO = 16  # replays of a graph before which every name is looked at
_IN_TURN = 2  # of later ones, how many names: each costs memory accesses that no cache has
_LOCALS_EVERY = 8  # and before every so many replays, the locals


class Named:
    """An input and every place that names it."""

    def __init__(self, memory: Memory, slots: Found, given: Found, first: int) -> None:
        self.memory = memory
        self.slots = [
            (Name(first + at, slot.text, slot.kind), slot, weakref.ref(tensor))
            for at, (tensor, slot) in enumerate(slots)
        ]
        self._likeness = [(tensor.shape, tensor.dtype) for tensor, _ in slots]
        self._later = [
            (Name(0, slot.text, "argument"), slot, (tensor.shape, tensor.dtype)) for tensor, slot in given
        ]
        self._judged: dict[tuple[object, ...], list[tuple[Name, Now, bool]]] = {}

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(name for name, _, _ in self.slots)

    @property
    def anchor(self) -> tuple[Slot, weakref.ref[torch.Tensor]] | None:
        """The name that is looked at first."""
        if not self.slots:
            return None
        _, slot, tensor = min(self.slots, key=lambda held: _BEST.index(held[1].kind))
        return slot, tensor

    def judge(self) -> list[tuple[Name, Now, bool]]:
        """The names that lead somewhere else, where, and whether something keeps the input all the same."""
        values = [slot.look() for _, slot, _ in self.slots]
        key = (self.memory.alive, *map(id, values))
        known = self._judged.get(key)
        if known is None:
            known = self._judged[key] = self._ask(values)
        return known

    def displaced(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The names that lead to another tensor of the kind now, and that tensor."""
        for (name, slot, _), likeness in zip(self.slots, self._likeness):
            value = slot.look()
            if value is not MISSING and self._where(value, None, likeness) == "alike":
                yield name.text, value

    def ignored(self) -> Iterator[tuple[Name, Now]]:
        """The arguments of a later call that lead to another tensor than those at capture did."""
        for name, later, likeness in self._later:
            value = later.look()
            if value is not MISSING and self._where(value, None, likeness) == "alike":
                yield name, "alike"

    @property
    def has_arguments(self) -> bool:
        return bool(self._later)

    def _ask(self, values: list[Any]) -> list[tuple[Name, Now, bool]]:
        found: list[tuple[Name, Now]] = []
        for (name, _, before), likeness, value in zip(self.slots, self._likeness, values):
            now = self._where(value, before(), likeness)
            if now is not None and not (name.kind == "gradient" and value is MISSING):
                found.append((name, now))
        if not any(now != "nothing" or name.kind == "gradient" for name, now in found):
            return []
        kept = self.memory.alive and self._kept({name.number for name, _ in found}, values)
        return [(name, now, kept) for name, now in found]

    def _where(self, value: Any, before: Any, likeness: Any) -> Now | None:
        if value is MISSING or not issubclass(type(value), torch.Tensor):
            return "nothing"
        base = base_of(value)
        if base == self.memory.base and self.memory.alive:
            return None
        if value is before:
            return "swapped" if base else None
        return "alike" if (value.shape, value.dtype) == likeness and value.is_cuda else "other"

    def _kept(self, moved: set[int], values: list[Any]) -> bool:
        """Whether something lasting still leads to the input, known at capture or not."""
        for name, _, _ in self.slots:
            if name.number not in moved and name.kind in LASTING:
                return True
        living = [tensor for tensor in every_tensor() if base_of(tensor) == self.memory.base]
        return any(_lastingly_held(tensor, (living, values)) for tensor in living)


def _lastingly_held(tensor: torch.Tensor, apart_from: tuple[list[Any], ...]) -> bool:
    """Whether more than locals of running functions, and lists of this module, hold a tensor."""
    own = {id(held) for held in (*apart_from, apart_from)}
    return any(id(holder) not in own and type(holder) not in _RUNNING for holder in gc.get_referrers(tensor))


_RUNNING = (FrameType, GeneratorType, CoroutineType)

_Look = tuple[Callable[[], Any], "weakref.ref[torch.Tensor]", int, Named]


class Watchlist:
    """What is looked at before each replay of one graph."""

    def __init__(self, names: list[Named]) -> None:
        self._by_memory = {named.memory.number: named for named in names}
        self._local: list[_Look] = []
        steady: list[_Look] = []
        for named in names:
            if named.anchor is not None:
                slot, tensor = named.anchor
                look = (slot.look, tensor, named.memory.base, named)
                (self._local if isinstance(slot.root, FrameRoot) else steady).append(look)
        self._steady = steady
        self._next = self._replays = 0
        self._given = [named for named in names if named.has_arguments]
        self._lost: dict[int, Named] = {}  # by the number of the memory, which is freed

    def lost(self, memory: int) -> None:
        """Memory is freed."""
        if memory in self._by_memory:
            self._lost[memory] = self._by_memory[memory]

    def moved(self, graph: int, arguments: bool) -> Iterable[NameMoved]:
        """What has to be said before a replay, given the memory that was freed so far.

        With `arguments`, also of inputs that lie where they were: the arguments of this call that were inputs
        at capture.
        """
        suspects = self._suspects()
        return self._told(graph, suspects, arguments) if suspects or (arguments and self._given) else ()

    def _suspects(self) -> dict[int, Named]:
        suspects = self._lost
        for look, tensor, base, named in self._due():
            value = look()
            if value is not tensor() or value is None or address(value) != base:
                suspects = {**suspects, named.memory.number: named}
        return suspects

    def _told(self, graph: int, suspects: dict[int, Named], arguments: bool) -> Iterator[NameMoved]:
        for memory, named in suspects.items():
            for name, now, kept in named.judge():
                yield NameMoved(graph, memory, name, now, kept)
        for named in self._given if arguments else suspects.values():
            for name, now in named.ignored():
                yield NameMoved(graph, named.memory.number, name, now, kept=named.memory.alive)

    def _due(self) -> list[_Look]:
        self._replays += 1
        due, early = self._steady, self._replays <= _ALL_UP_TO
        if not early and len(due) > _IN_TURN:
            at = self._next
            self._next = at + _IN_TURN if at + _IN_TURN < len(due) else 0
            due = due[at : at + _IN_TURN]
        if self._local and (early or self._replays % _LOCALS_EVERY == 0):
            with stack_locals():
                return due + [look for look in self._local if not _is_same(look)]
        return due


def _is_same(look: _Look) -> bool:
    now, tensor, base, _ = look
    value = now()
    if value is MISSING:
        return True  # the function has returned: what it held says nothing any more
    return value is tensor() and value is not None and base_of(value) == base
