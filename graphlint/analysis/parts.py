"""What a value is made of: its tensors, its host numbers, where those come from and how they change."""

from __future__ import annotations

from collections.abc import Iterator

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


def tensors_in(value: Value, depth: int = 4) -> Iterator[Tensor]:
    """Every tensor that `value` is or holds, through containers and unions, not through objects."""
    if type(value) is Tensor:
        yield value
    elif type(value) is Union:
        for part in value.values:
            yield from tensors_in(part, depth)
    elif depth and type(value) is Sequence_:
        for part in value.elements():
            yield from tensors_in(part, depth - 1)
    elif depth and type(value) is Mapping:
        for _, part in value.entries():
            yield from tensors_in(part, depth - 1)


def tensors_of_record(value: Value, depth: int = 4) -> Iterator[Tensor]:
    """Those that a value holds, and the fields of a plain record, which is a tuple with names."""
    for part in alternatives(value):
        named = type(part) is Obj and not isinstance(part.cls, str) and part.cls.is_plain_record
        held = part.fields.values() if type(part) is Obj and named else (part,)
        for each in held:
            yield from tensors_in(each, depth) if isinstance(each, Value) else ()


def host_parts(value: Value) -> Iterator[Value]:
    """What `value` may be or holds, through unions and sequences; each container once, even in itself."""
    pending, met = [value], set()
    while pending:
        part = pending.pop()
        if not isinstance(part, (Union, Sequence_)):
            yield part
        elif id(part) not in met:
            met.add(id(part))
            pending.extend(reversed(part.values if type(part) is Union else part.elements()))


def cells_of(value: Value) -> frozenset[Cell]:
    """The places that a host value was read from."""
    if isinstance(value, (Const, Host)):
        return value.cells
    if not isinstance(value, (Union, Sequence_)):
        return NO_CELLS
    return frozenset().union(*(part.cells for part in host_parts(value) if isinstance(part, (Const, Host))))


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
    if isinstance(value, (Host, Unknown)):
        return value.change
    if isinstance(value, (Union, Sequence_)):
        return max(map(change_of, host_parts(value)), default=Change.CONFIG)
    return Change.CONFIG
