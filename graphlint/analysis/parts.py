"""What a value is made of: its tensors, its host numbers, where those come from and how they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphlint.analysis.values import (
    NO_CELLS,
    Cell,
    Change,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
)


def tensors_in(value: Value, depth: int = 4) -> Sequence[Tensor]:
    """Every tensor that `value` is or holds, through containers and unions, not through objects."""
    if type(value) is Tensor:
        return (value,)
    if type(value) is Union:
        return [tensor for part in value.values for tensor in tensors_in(part, depth)]
    if depth and type(value) is Sequence_:
        return [tensor for part in value.elements() for tensor in tensors_in(part, depth - 1)]
    if depth and type(value) is Mapping:
        return [tensor for _, part in value.entries() for tensor in tensors_in(part, depth - 1)]
    return ()


def tensors_of_record(value: Value, depth: int = 4) -> Iterator[Tensor]:
    """Those that a value holds, and the fields of a plain record, which is a tuple with names."""
    for part in alternatives(value):
        named = type(part) is Obj and not isinstance(part.cls, str) and part.cls.is_plain_record
        held = part.fields.values() if type(part) is Obj and named else (part,)
        for each in held:
            yield from tensors_in(each, depth) if isinstance(each, Value) else ()


def host_parts(value: Value) -> list[Value]:
    """What `value` may be or holds, through unions and sequences; each container once, even in itself."""
    found: list[Value] = []
    pending, met = [value], set()
    while pending:
        part = pending.pop()
        if type(part) is not Union and type(part) is not Sequence_:
            found.append(part)
        elif id(part) not in met:
            met.add(id(part))
            pending.extend(reversed(part.values if type(part) is Union else part.elements()))
    return found


def cells_of(value: Value) -> frozenset[Cell]:
    """The places that a host value was read from."""
    if type(value) is Const or type(value) is Host:
        return value.cells
    if type(value) is not Union and type(value) is not Sequence_:
        return NO_CELLS
    return cells_of_all([part for part in host_parts(value) if isinstance(part, (Const, Host))])


def cells_of_all(values: Iterable[Value]) -> frozenset[Cell]:
    """The places that any of several host values was read from; mostly there are none."""
    found = NO_CELLS
    for value in values:
        cells = cells_of(value)
        if cells:
            found = found | cells if found else cells
    return found


def with_cell(value: Value, cell: Cell) -> Value:
    """A host value that remembers one more place that it was read from."""
    if type(value) is Const:
        return Const(value.value, value.cells | {cell})
    if type(value) is Host:
        return Host(value.kind, value.change, value.symbol, value.cells | {cell})
    if type(value) is Union:
        return Union(tuple(with_cell(part, cell) for part in value.values), value.chosen_by)
    return value


def change_of(value: Value) -> Change:
    """The most changing part of a host value."""
    if type(value) is Const:
        return Change.CONSTANT
    if type(value) is Host or type(value) is Unknown:
        return value.change
    if type(value) is Union or type(value) is Sequence_:
        return max(map(change_of, host_parts(value)), default=Change.CONFIG)
    return Change.CONFIG
