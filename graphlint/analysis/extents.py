"""How large a part of a tensor is, where the program says it in numbers."""

from __future__ import annotations

from graphlint.analysis.values import Const, SliceValue, Tensor, Value, is_none


def of_first_rows(owner: Tensor, index: Value) -> tuple[Value, ...] | None:
    """The sizes of `owner[:n]`, where `n` and the number of rows are constants; None where they are not."""
    if owner.shape is None or not isinstance(index, SliceValue):
        return None
    rows, wanted = number(owner.shape[0]) if owner.shape else None, number(index.upper)
    from_start = is_none(index.lower) or number(index.lower) == 0
    if rows is None or wanted is None or wanted < 0 or not from_start or not is_none(index.step):
        return None
    return (Const(min(rows, wanted)), *owner.shape[1:])


def is_from_start(tensor: Tensor) -> bool:
    """Whether a tensor is all of its memory, or the first rows of it."""
    part = tensor.part
    if not isinstance(part, SliceValue):
        return part is None
    return (is_none(part.lower) or number(part.lower) == 0) and is_none(part.step)


def number(value: Value | None) -> int | None:
    """The whole number that a value is known to be."""
    return value.value if isinstance(value, Const) and type(value.value) is int else None
