"""Which inputs of a graph captured code sums up over all their rows, padding included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis.frames import Place
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Const, Sequence_, Storage, Tensor, Value

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.libraries.registry import Call
    from graphlint.analysis.machine import Machine
    from graphlint.rules.operations import Operation

Origins = frozenset[Storage]


@dataclass(frozen=True, slots=True)
class Mixing:
    """An operation that makes one result of all rows, and the inputs that its operand was computed from."""

    origins: Origins
    place: Place


def of_capture(capture: Capture) -> list[Mixing]:
    """The operations of a capture that mix rows."""
    found: list[Mixing] = capture.facts.setdefault("mixings", [])
    return found


def note_made(m: Machine, operands: Iterable[Tensor], made: Value) -> None:
    """Captured code computes something from tensors, row by row for all we know."""
    capture = m.capture
    if capture is None or capture.compiled:
        return
    known: dict[Storage, Origins] = capture.facts.setdefault("origins", {})
    origins = _origins(capture, known, operands)
    if origins:
        for tensor in tensors_in(made):
            if tensor.storage.graph is capture.graph:
                known[tensor.storage] = origins | known.get(tensor.storage, frozenset())


def note_operation(call: Call, operation: Operation, operands: list[Value]) -> None:
    """Captured code runs an operation that may make one result of all rows."""
    capture = call.m.capture
    if capture is None or capture.compiled or not _mixes(call, operation, operands):
        return
    known: dict[Storage, Origins] = capture.facts.setdefault("origins", {})
    origins = _origins(capture, known, tensors_in(operands[0]) if operands else ())
    if origins:
        of_capture(capture).append(Mixing(origins, call.place))


def _origins(capture: Capture, known: dict[Storage, Origins], operands: Iterable[Tensor]) -> Origins:
    found: set[Storage] = set()
    for tensor in operands:
        if tensor.storage.graph is capture.graph:
            found |= known.get(tensor.storage, frozenset())
        elif tensor.on_device and tensor.part is None and not tensor.parameter and not tensor.storage.owner:
            found.add(tensor.storage)
    return frozenset(found)


def _mixes(call: Call, operation: Operation, operands: list[Value]) -> bool:
    """Whether the operation reduces over the first dimension, or over all of them."""
    if not operation.reduces:
        return False
    dim = call.arguments.kwargs.get("dim") or call.arguments.kwargs.get("axis")
    if dim is None and operation.reduces == "without-dim" and len(operands) > 1:
        dim = operands[1]
    if dim is None:
        return True
    parts = dim.items if isinstance(dim, Sequence_) else (dim,)
    return any(isinstance(part, Const) and part.value == 0 for part in parts)
