"""How many hold the outputs of a graph: counted at each replay, without looking at what the program does."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.watching.companions import Companion
from graphlint.sentinel.watching.containers import references, together
from graphlint.sentinel.watching.memories import Memory
from graphlint.sentinel.watching.slots import Slot

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer

_LOOKS = 3
_MOST = 8  # outputs of a graph that are counted, so that a replay stays cheap
_ROW = 3  # times that one collection has a result, at the end

_Tensor = weakref.ref[torch.Tensor]


class Census(Companion):
    """Tells the machine how many tensors and references lead to each output."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._counted: dict[int, list[_Output]] = {}

    def ended(self, graph: Any, number: int) -> None:
        held = self._observer.names_of_outputs(number)
        self._counted[number] = [
            _Output(memory, tensors, held.get(memory.number, []))
            for memory, tensors in self._observer.outputs_of(number)[:_MOST]
        ]
        weakref.finalize(graph, self._counted.pop, number, None).atexit = False

    def replaying(self, graph: Any, number: int) -> None:
        for output in self._counted.get(number, ()):
            holders = output.news()
            if holders is not None:
                self._observer.tell(events.OutputHeld(number, output.number, holders, output.together))

    def finish(self) -> None:
        """What is kept after the last replay counts as well, also in containers without a lasting name."""
        for number in list(self._counted):
            self.replaying(None, number)
        everything = [(number, output) for number, outputs in self._counted.items() for output in outputs]
        if together([tensor for _, output in everything for tensor in output.living()]) >= _ROW:
            for number, output in everything:
                self._last_look(number, output)

    def _last_look(self, number: int, output: _Output) -> None:
        """Only a collection that has a result once for each replay is one of results."""
        graph = self._observer.machine.state.graphs.get(number)
        times = together(output.living()) if graph is not None else 0
        if graph is not None and times >= _ROW and graph.replays - 1 <= times <= graph.replays:
            self._observer.tell(events.OutputHeld(number, output.number, times, times))


class _Output:
    """The memory of one output, and the tensors that lay on it when the capture ended."""

    __slots__ = ("_held", "_last", "_looks", "_moving", "_storage", "_tensors", "number", "together")

    def __init__(self, memory: Memory, tensors: list[_Tensor], held: list[tuple[Slot, _Tensor]]) -> None:
        self.number = memory.number
        self._storage = memory.reference
        self._tensors = list(tensors)
        self._held = [(slot, tensor) for slot, tensor in held if _leads_through(slot, tensor())]
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
        """How often one list or dict has it; looked for a few times only."""
        self._looks += 1
        return together(self.living()) if self._looks <= _LOOKS else 0

    def living(self) -> list[torch.Tensor]:
        """Those of the tensors that live."""
        return [tensor for reference in self._tensors if (tensor := reference()) is not None]

    def _holders(self) -> int:
        """Tensors on the memory, and references to those of the capture and to what holds them by name."""
        storage = self._storage()
        if storage is None:
            return 0
        count = int(torch._C._storage_Use_Count(storage._cdata))
        for reference in self._tensors:
            tensor = reference()
            count += sys.getrefcount(tensor) if tensor is not None else 0
        for slot, reference in self._held:
            tensor = reference()
            count += references(slot, tensor) if tensor is not None else 0
        return count


def _leads_through(slot: Slot, tensor: torch.Tensor | None) -> bool:
    """Whether a name leads to a tensor through something that can be kept again and again with it."""
    return tensor is not None and references(slot, tensor) > 0
