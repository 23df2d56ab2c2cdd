"""What a capture reads from outside, what of its pool the program holds, and the program's names for both."""

from __future__ import annotations

import bisect
import weakref
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.findings import Stack
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.accesses import Access, Recording
from graphlint.sentinel.watching.memories import Memories, Memory, base_of, every_tensor, young_tensors
from graphlint.sentinel.watching.names import Named
from graphlint.sentinel.watching.search import Search, arguments
from graphlint.sentinel.watching.slots import Found

if TYPE_CHECKING:
    from graphlint.sentinel.trials.writes import Writes


@dataclass(slots=True)
class Captured:
    """What is known of a capture when it ends."""

    inputs: list[events.Input] = field(default_factory=list)
    outputs: list[events.Output] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    names: list[Named] = field(default_factory=list)
    kept: list[Named] = field(default_factory=list)  # where outputs are kept
    memories: list[Memory] = field(default_factory=list)  # of inputs and outputs
    made: list[tuple[Memory, list[weakref.ref[torch.Tensor]]]] = field(
        default_factory=list
    )  # and the tensors there
    hosts: set[int] = field(default_factory=set)  # the numbers of those of the host
    knows_writes: bool = True
    unowned: int = 0  # places in memory whose tensors could not be found

    def event(self, graph: int, pool: int, stack: Stack) -> events.CaptureEnded:
        """As the machine wants it."""
        inputs, outputs = tuple(self.inputs), tuple(self.outputs)
        who = places.by_library(), places.by_compiler()
        return events.CaptureEnded(
            graph, pool, stack, inputs, outputs, tuple(self.ranges), self.knows_writes, *who
        )


def read(
    recording: Recording,
    accesses: list[Access],
    pool: int,
    memories: Memories,
    seen: Writes | None,
    all_young: bool,
) -> Captured:
    """Ask the program for its names of what was recorded.

    `seen` is what its operations were seen to write, for a recording that does not know it. `all_young`: the
    garbage collector was not at work since the capture began, and so what was made since then is found among
    the youngest objects.
    """
    frames = places.frames()
    found, given = Search().tensors(frames), arguments(frames)
    del frames
    hosts = sorted(access.address for access in accesses if access.host)
    reader = _Reader(recording, memories, pool, (found, given), hosts, seen)
    reader.look(accesses, all_young)
    return reader.sort(accesses)


def is_cast(tensor: torch.Tensor) -> bool:
    """Whether it is what autocast makes of a weight, and keeps."""
    if tensor.dtype not in (torch.float16, torch.bfloat16) or tensor.is_leaf:
        return False
    made = tensor.grad_fn
    return made is not None and made.name() == "ToCopyBackward0"


class _Reader:
    def __init__(
        self,
        recording: Recording,
        memories: Memories,
        pool: int,
        names: tuple[Found, Found],
        hosts: list[int],
        seen: Writes | None,
    ) -> None:
        self._seen = seen
        self._recording, self._memories, self._pool, self._hosts = recording, memories, pool, hosts
        self._slots: dict[int, Found] = defaultdict(list)  # by where the storage begins
        self._given: dict[int, Found] = defaultdict(list)
        for into, found in zip((self._slots, self._given), names):
            for tensor, slot in found:
                into[base_of(tensor)].append((tensor, slot))
        self._tensors: dict[int, set[weakref.ref[torch.Tensor]]] = defaultdict(set)  # on the pool's own
        self._casts: set[int] = set()  # where what autocast has made of weights begins
        self._living: dict[int, Memory] = {}  # storages of the device that tensors of the process lie on
        self._bases: list[int] = []
        self._captured = Captured()
        self._next_name = 1

    def look(self, accesses: list[Access], all_young: bool) -> None:
        """Find the tensors that lie where the graph reads and writes. Nearly always they have names or are
        new; only where something is left over every object of the process is looked at, which takes long."""
        for memory in self._memories.living():
            if self._recording.pool_of(memory.base) is not None:
                self._living[memory.base] = memory
        self._scan([tensor for found in self._slots.values() for tensor, _ in found])
        if all_young:
            self._scan(young_tensors())
        if not all_young or any(map(self._is_left_over, accesses)):
            self._scan(every_tensor())

    def _scan(self, tensors: list[torch.Tensor]) -> None:
        """Note the storages of the device that these tensors lie on."""
        caching = torch.is_autocast_cache_enabled()
        for tensor in tensors:
            base = base_of(tensor)
            if not base or not self._matters(base, tensor):
                continue
            if caching and is_cast(tensor):
                self._casts.add(base)
            if self._recording.pool_of(base) == self._pool:
                self._tensors[base].add(weakref.ref(tensor))
            if base not in self._living:
                memory = self._memories.of(tensor)
                if memory is not None:
                    self._living[memory.base] = memory
        self._bases = sorted(self._living)

    def _is_left_over(self, access: Access) -> bool:
        """Whether an access leads to memory from outside on which no known tensor lies."""
        pool = self._recording.pool_of(access.address)
        outside = pool != self._pool and (pool is not None or access.host)
        return outside and self._covering(access.address) is None

    def sort(self, accesses: list[Access]) -> Captured:
        """Tell inputs from the graph's own memory, and find its outputs."""
        inputs: dict[int, list[tuple[Access, Memory]]] = {}
        told = all(access.writes is not None for access in accesses)
        self._captured.knows_writes = told or (self._seen is not None and self._seen.complete)
        for access in accesses:
            memory = self._outside(access)
            if memory is not None:
                inputs.setdefault(memory.number, []).append((access, memory))
            if (
                access.writes is not False
                and memory is None
                and self._recording.pool_of(access.address) == self._pool
            ):
                self._captured.ranges.append((access.address, access.address + access.size))
        for group in inputs.values():
            self._input([access for access, _ in group], group[0][1])
        self._outputs()
        return self._captured

    def _outside(self, access: Access) -> Memory | None:
        """The memory that an access leads to, if it is not the graph's own."""
        pool = self._recording.pool_of(access.address)
        if pool is None and not access.host:
            return None
        memory = self._covering(access.address)
        if pool == self._pool:
            return memory if memory is not None and memory.number in self._memories.outputs else None
        if memory is None and self._recording.allocated(access.address):
            self._captured.unowned += access.sure
        elif memory is None:
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

    def _input(self, accesses: list[Access], memory: Memory) -> None:
        first = next((access for access in accesses if access.reads), accesses[0])
        named = Named(
            memory, self._slots.get(memory.base, []), self._given.get(memory.base, []), self._next_name
        )
        self._next_name += len(named.slots)
        self._captured.names.append(named)
        self._captured.memories.append(memory)
        self._captured.inputs.append(
            events.Input(
                memory.number,
                memory.base,
                memory.size,
                named.names,
                first.stack,
                sure=any(access.sure for access in accesses),
                host=first.host,
                pooled=bool(self._recording.pool_of(memory.base)),
                cleared=not accesses[0].reads or _is_among(memory, self._seen.cleared if self._seen else ()),
                written=any(access.writes is True for access in accesses)
                or _is_among(memory, self._seen.outside if self._seen else ()),
                cast=memory.base in self._casts and not named.slots,
            )
        )
        if first.host:
            self._captured.hosts.add(memory.number)

    def _outputs(self) -> None:
        """What the program holds of the pool, and no earlier graph made."""
        for base, memory in self._living.items():
            if self._recording.pool_of(base) == self._pool and memory.number not in self._memories.outputs:
                self._memories.outputs.add(memory.number)
                self._captured.memories.append(memory)
                self._captured.made.append((memory, list(self._tensors[base])))
                self._captured.outputs.append(events.Output(memory.number, base, memory.size))
                self._output_names(memory)

    def _output_names(self, memory: Memory) -> None:
        """Where the program keeps an output for longer than a call."""
        gradients = [held for held in self._slots.get(memory.base, []) if held[1].kind == "gradient"]
        if gradients:
            self._captured.names.append(Named(memory, gradients, [], self._next_name))
            self._next_name += len(gradients)
        lasting = [held for held in self._slots.get(memory.base, []) if held[1].kind in events.LASTING]
        if lasting:
            self._captured.kept.append(Named(memory, lasting, [], 0))

    def _matters(self, base: int, tensor: torch.Tensor) -> bool:
        """Whether a tensor is the device's, or of the host and used by the graph."""
        if base in self._recording.wholes:
            return False
        if self._recording.pool_of(base) is not None:
            return True
        at = bisect.bisect_left(self._hosts, base)
        return at < len(self._hosts) and self._hosts[at] < base + tensor.untyped_storage().nbytes()


def _is_among(memory: Memory, storages: Container[int]) -> bool:
    """Whether a storage is one of those, of which the addresses of their C++ objects are known."""
    storage = memory.reference()
    return storage is not None and storage._cdata in storages
