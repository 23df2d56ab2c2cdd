"""What a capture on the virtual device records: each step as it is recorded, with the program's line."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.findings import Stack
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import capture as captures
from graphlint.sentinel.virtual import recording, tape, transfers
from graphlint.sentinel.virtual.tensors import device_memory, extent, pinned_memory
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.accesses import Access
from graphlint.sentinel.watching.operators import operator


class Steps:
    """The `Recording` of the virtual device."""

    def __init__(self, patches: Patches) -> None:
        self._open: dict[Any, list[Access]] = {}
        self.wholes = frozenset({device_memory().arena.base, pinned_memory().arena.base})
        plain = captures.Capture.record
        noted = self._open

        def record(capture: Any, stream: Any, step: tape.Step) -> None:
            plain(capture, stream, step)
            into = noted.get(capture)
            if into is not None:
                into.extend(accesses(step, places.here()))

        patches.set(captures.Capture, "record", record)

    def begin(self, graph: Any) -> None:
        self._open[graph._capture] = []

    def end(self, graph: Any) -> list[Access]:
        return self._open.pop(graph._capture, [])

    def pool_of(self, address: int) -> int | None:
        for start, (size, pool) in device_memory().allocator.segments.items():
            if start <= address < start + size:
                return pool
        return None

    def allocated(self, address: int) -> bool:
        memory = pinned_memory() if address in pinned_memory().arena else device_memory()
        memory.bury()
        return any(
            start <= address < start + block.size and not block.free
            for start, block in memory.allocator.blocks.items()
        )

    def busy(self, stream: int) -> bool:
        return True  # an edge that is missing is missing, whatever order the streams have now


def accesses(step: tape.Step, stack: Stack) -> list[Access]:
    """What one step touches."""
    if isinstance(step, tape.Operation):
        known = operator(step.function)
        written = _given(step, known.written) if known is not None else set()
        unread = _given(step, known.only_written) if known is not None else set()
        touched = tape.flat_tensors([step.args, step.kwargs])
        found = [
            _access(tensor, id(tensor) not in unread, id(tensor) in written, stack) for tensor in touched
        ]
        return found + [_access(made, False, True, stack) for made in step.results or () if made is not None]
    if isinstance(step, recording.Draw):
        found = [_access(tensor, True, True, stack) for tensor in tape.flat_tensors([step._args])]
        return found + [_access(made, False, True, stack) for made in step._results if made is not None]
    if isinstance(step, transfers.ToHost):
        return [_access(step._source, True, False, stack), _access(step._target, False, True, stack)]
    if isinstance(step, tape.Call):
        return [_access(tensor, True, True, stack) for tensor in tape.flat_tensors(list(step.touches))]
    return []


def _access(tensor: torch.Tensor, reads: bool, writes: bool, stack: Stack) -> Access:
    address = tensor.data_ptr()
    return Access(address, extent(tensor), reads, writes, stack, host=address in pinned_memory().arena)


def _given(step: tape.Operation, keys: set[Any]) -> set[int]:
    """The tensors that an operation is given in some places."""
    values = [value for at, value in enumerate(step.args) if at in keys]
    values += [value for name, value in step.kwargs.items() if name in keys]
    return {id(tensor) for tensor in tape.flat_tensors(values)}
