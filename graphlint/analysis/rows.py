"""Which inputs of a graph captured code sums up over all their rows, padding included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis.frames import Place
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Const, Sequence_, SliceValue, Storage, Tensor, Value
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.libraries.registry import Call
    from graphlint.analysis.machine import Machine
    from graphlint.rules.operations import Operation

Origins = frozenset[
    tuple[Storage, int]
]  # inputs, with the number of leading dimensions that indices have taken away


@dataclass(frozen=True, slots=True)
class Mixing:
    """An operation that makes one result of all rows, and the inputs that its operand was computed from."""

    origins: Origins
    place: Place
    beside: Origins = frozenset()  # what else goes into it: a mask, perhaps


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
    origins = _origins(capture, operands)
    if origins:
        for tensor in tensors_in(made):
            if tensor.storage.graph is capture.graph:
                known[tensor.storage] = origins | known.get(tensor.storage, frozenset())


def note_operation(call: Call, operation: Operation, operands: list[Value]) -> None:
    """Captured code runs an operation that may make one result of all rows."""
    capture = call.m.capture
    if capture is None or capture.compiled:
        return
    if operation.name.rpartition(".")[2].rstrip("_") in operations.listed("sums_by_index"):
        _note_sum_by_index(call, capture, operands)
    elif operands and _mixes(call, operation, operands):
        _note(call, capture, _origins(capture, tensors_in(operands[0])))


def _note_sum_by_index(call: Call, capture: Capture, operands: list[Value]) -> None:
    """`total.index_add(0, index, source)`: every entry of the index counts, whatever it is left over from."""
    dim, index, source = (
        call.arguments.kwargs.get(name) or (operands[at] if at < len(operands) else None)
        for at, name in ((1, "dim"), (2, "index"), (3, "src"))
    )
    if isinstance(dim, Const) and dim.value == 0 and index is not None:
        beside = _origins(capture, tensors_in(source)) if source is not None else frozenset()
        _note(call, capture, _origins(capture, tensors_in(index)), beside)


def _note(call: Call, capture: Capture, origins: Origins, beside: Origins = frozenset()) -> None:
    if origins:
        of_capture(capture).append(Mixing(origins, call.place, beside))


def _origins(capture: Capture, operands: Iterable[Tensor]) -> Origins:
    known: dict[Storage, Origins] = capture.facts.setdefault("origins", {})
    found: set[tuple[Storage, int]] = set()
    for tensor in operands:
        if tensor.storage.graph is capture.graph:
            found |= known.get(tensor.storage, frozenset())
        elif tensor.on_device and not tensor.parameter and not tensor.storage.owner:
            depth = _depth(tensor.part)
            found |= {(tensor.storage, depth)} if depth is not None else set()
    return frozenset(found)


def _depth(part: Value | None) -> int | None:
    """How many dimensions an index takes away at the front; None for a part of the rows."""
    if part is None:
        return 0
    return None if isinstance(part, (SliceValue, Sequence_)) else 1


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
