"""What a capture reads from outside, what of its pool the program holds, and the program's names for both."""

from __future__ import annotations

import bisect
import gc
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.findings import Stack
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.accesses import Access, Recording
from graphlint.sentinel.watching.memories import Memories, Memory, base_of
from graphlint.sentinel.watching.names import Named
from graphlint.sentinel.watching.slots import Search, Slot

Found = list[tuple[torch.Tensor, Slot]]


@dataclass(slots=True)
class Captured:
    """What is known of a capture when it ends."""

    inputs: list[events.Input] = field(default_factory=list)
    outputs: list[events.Output] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    names: list[Named] = field(default_factory=list)

    def event(self, graph: int, stream: int, pool: int, stack: Stack) -> events.CaptureEnded:
        """As the machine wants it."""
        return events.CaptureEnded(
            graph, pool, stream, stack, tuple(self.inputs), tuple(self.outputs), tuple(self.ranges)
        )


def read(recording: Recording, graph: Any, memories: Memories) -> Captured:
    """Ask the device what was recorded, and the program for its names."""
    accesses = recording.end(graph)
    frames = places.frames()
    found = Search().tensors(frames)
    del frames
    return _Reader(recording, memories, graph.pool()[1], found).sort(accesses)


class _Reader:
    def __init__(self, recording: Recording, memories: Memories, pool: int, found: Found) -> None:
        self._recording, self._memories, self._pool = recording, memories, pool
        self._slots: dict[int, Found] = defaultdict(list)  # by where the storage begins
        self._living: dict[int, Memory] = {}
        for tensor, slot in found:
            self._add(tensor, slot)
        self._bases = sorted(self._living)
        self._scanned = False
        self._captured = Captured()
        self._next_name = 1

    def sort(self, accesses: list[Access]) -> Captured:
        """Tell inputs from the graph's own memory."""
        inputs: dict[int, list[tuple[Access, Memory]]] = {}
        for access in accesses:
            pool = self._recording.pool_of(access.address)
            if pool == self._pool:
                self._captured.ranges.append((access.address, access.address + access.size))
            elif pool is not None or self._recording.pinned(access.address):
                memory = self._memory(access)
                inputs.setdefault(memory.number, []).append((access, memory))
        for group in inputs.values():
            self._input([access for access, _ in group], group[0][1])
        return self._captured

    def _input(self, accesses: list[Access], memory: Memory) -> None:
        first = next((access for access in accesses if access.reads), accesses[0])
        named = Named(memory, self._slots.get(memory.base, []), self._next_name)
        self._next_name += len(named.slots)
        self._captured.names.append(named)
        self._captured.inputs.append(
            events.Input(
                memory.number,
                memory.base,
                memory.size,
                named.names,
                first.stack,
                sure=any(access.sure for access in accesses),
                host=self._recording.pinned(memory.base),
                pooled=bool(self._recording.pool_of(memory.base)),
                written=any(access.writes for access in accesses),
            )
        )

    def _memory(self, access: Access) -> Memory:
        memory = self._covering(access.address)
        if memory is None and not self._scanned:
            self._scan()
            memory = self._covering(access.address)
        if memory is None:
            memory = self._memories.lost(access.address, access.size)
            self._living[memory.base] = memory
            bisect.insort(self._bases, memory.base)
        return memory

    def _covering(self, address: int) -> Memory | None:
        at = bisect.bisect_right(self._bases, address) - 1
        if at < 0:
            return None
        memory = self._living[self._bases[at]]
        return memory if memory.base <= address < memory.base + max(memory.size, 1) else None

    def _scan(self) -> None:
        """Look at every tensor of the process, for those that no name was found for."""
        self._scanned = True
        for tensor in every_tensor():
            base = base_of(tensor)
            if base and base not in self._living and self._on_device(base):
                memory = self._memories.of(tensor)
                if memory is not None:
                    self._living[memory.base] = memory
        self._bases = sorted(self._living)

    def _add(self, tensor: torch.Tensor, slot: Slot) -> None:
        base = base_of(tensor)
        if not base or not self._on_device(base):
            return
        if base not in self._living:
            memory = self._memories.of(tensor)
            if memory is None:
                return
            self._living[base] = memory
        self._slots[base].append((tensor, slot))

    def _on_device(self, base: int) -> bool:
        return self._recording.pool_of(base) is not None or self._recording.pinned(base)


def every_tensor() -> Iterable[torch.Tensor]:
    """Every tensor that Python knows."""
    return [found for found in gc.get_objects() if issubclass(type(found), torch.Tensor)]
