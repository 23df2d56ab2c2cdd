"""How many hold the outputs of a graph: counted at each replay, without looking at what the program does."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.watching.companions import Companion
from graphlint.sentinel.watching.memories import Memory

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer

_LOOKS = 3
_MOST = 8  # outputs of a graph that are counted, so that a replay stays cheap


class Census(Companion):
    """Tells the machine how many tensors and references lead to each output."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._counted: dict[int, list[_Output]] = {}

    def ended(self, graph: Any, number: int) -> None:
        outputs = self._observer.outputs_of(number)
        self._counted[number] = [_Output(memory, tensors) for memory, tensors in outputs[:_MOST]]
        weakref.finalize(graph, self._counted.pop, number, None).atexit = False

    def replaying(self, graph: Any, number: int) -> None:
        for output in self._counted.get(number, ()):
            holders = output.news()
            if holders is not None:
                self._observer.tell(events.OutputHeld(number, output.number, holders, output.together))

    def finish(self) -> None:
        """What is kept after the last replay counts as well."""
        for number in list(self._counted):
            self.replaying(None, number)


class _Output:
    """The memory of one output, and the tensors that lay on it when the capture ended."""

    __slots__ = ("_last", "_looks", "_moving", "_storage", "_tensors", "number", "together")

    def __init__(self, memory: Memory, tensors: Iterable[weakref.ref[torch.Tensor]]) -> None:
        self.number = memory.number
        self._storage = memory.reference
        self._tensors = list(tensors)
        self._last = 0
        self._moving = False
        self._looks = 0
        self.together = 0  # how often one container has it, when it is kept time after time

    def news(self) -> int | None:
        """How many hold it, unless that is what it was at the last replays, or it is gone."""
        holders = self._holders()
        moved, self._last = holders != self._last, holders
        moving, self._moving = self._moving, moved
        self.together = self._most_together() if moved and moving else 0
        return holders if holders and (moved or moving) else None

    def _most_together(self) -> int:
        """How often one list or dict has one of its tensors; looked for a few times only."""
        self._looks += 1
        if self._looks > _LOOKS:
            return 0
        most = 0
        for tensor in [tensor for reference in self._tensors if (tensor := reference()) is not None]:
            for holder in gc.get_referrers(tensor):
                if type(holder) is list or (type(holder) is dict and not _is_namespace(holder)):
                    items = holder.values() if isinstance(holder, dict) else holder
                    most = max(most, sum(item is tensor for item in items))
        return most

    def _holders(self) -> int:
        """Tensors on the memory, and references to those of the capture."""
        storage = self._storage()
        if storage is None:
            return 0
        count = int(torch._C._storage_Use_Count(storage._cdata))
        for reference in self._tensors:
            tensor = reference()
            count += sys.getrefcount(tensor) if tensor is not None else 0
        return count


def _is_namespace(items: dict[Any, Any]) -> bool:
    """Whether a module, an object or a running function has its names in a dict: two names of one result are
    no collection of results."""
    if "__builtins__" in items:
        return True
    for holder in gc.get_referrers(items):
        if isinstance(holder, FrameType) or _names_of(holder) is items:
            return True
    return False


def _names_of(holder: object) -> object:
    try:
        return object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return None
