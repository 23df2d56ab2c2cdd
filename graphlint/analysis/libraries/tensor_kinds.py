"""The kind, the rank and the sizes of the tensors that operations return."""

from __future__ import annotations

from collections.abc import Sequence

from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.values import (
    Change,
    Const,
    External,
    Host,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    alternatives,
    is_none,
)
from graphlint.rules import operations


def kind(call: Call, operation: operations.Operation, first: Tensor | None) -> str | None:
    named = call.arguments.kwargs.get("dtype")
    for value in (named, *(a for a in call.args if isinstance(a, External))):
        if isinstance(value, External):
            return kind_of_dtype(value.name)
    if named is not None and not is_none(named):
        return _kind_of_other(named)
    if operation.dtype in ("bool", "int", "float"):
        return operation.dtype
    last = operation.name.rpartition(".")[2]
    if last in operations.listed("to_float"):
        return "float"
    if last in operations.listed("to_int"):
        return "int"
    if operation.name == "torch.where" and len(call.args) > 1:
        return _kind_of_numbers(call.args[1:])  # the condition has no say
    if operation.dtype == "same" and first is not None:
        return first.kind
    if named is None and last in operations.listed("factories_like_their_data"):
        return _kind_of_numbers(call.args[1:2] if last == "full" else call.args)
    return "float" if operation.factory and last in operations.listed("sizes_by_position") else None


def _kind_of_other(dtype: Value) -> str | None:
    """The kind that `dtype=x.dtype` names: that of the other tensor; None where it is not known."""
    symbol = dtype.symbol if isinstance(dtype, Host) else None
    known = symbol[1] if isinstance(symbol, tuple) and symbol[:1] == ("dtype",) else None
    return known if isinstance(known, str) else None


def _kind_of_numbers(values: Sequence[Value]) -> str | None:
    """The kind of a tensor made from these Python numbers, the most general one among them."""
    kinds: set[str | None] = set()
    for value in values:
        for part in alternatives(value):
            if isinstance(part, Sequence_):
                kinds.add(_kind_of_numbers(part.elements()))
            elif isinstance(part, Const):
                kinds.add(type(part.value).__name__)
            else:
                kinds.add(part.kind if isinstance(part, (Host, Tensor)) else None)
    return next((kind for kind in (None, "any", "float", "int", "bool") if kind in kinds), None)


def kind_of_dtype(name: str) -> str | None:
    last = name.rpartition(".")[2]
    if last in ("bool", "uint8"):
        return "bool" if last == "bool" else "byte"
    if last.startswith(("int", "uint", "long", "short")):
        return "int"
    return "float" if last.startswith(("float", "half", "bfloat", "double")) else None


def view_rank(first: Tensor, last: str) -> int | None:
    if first.ndim is None:
        return None
    if last == "unsqueeze":
        return first.ndim + 1
    return first.ndim if last in operations.listed("rank_keeping_views") else None


def known_shape(call: Call, made: Tensor) -> tuple[Value, ...] | None:
    """The sizes that a factory is given, where some are constants; the others are told by the tensor."""
    size = call.args[0] if call.args else call.arguments.kwargs.get("size")
    parts = size.items if isinstance(size, Sequence_) and size.rest is None else tuple(call.args)
    if call.arguments.more is not None or not any(_is_size(part) for part in parts):
        return None
    if not all(isinstance(part, (Const, Host, Unknown)) for part in parts):
        return None
    return tuple(part if _is_size(part) else _size(made, index) for index, part in enumerate(parts))


def _is_size(part: Value) -> bool:
    return isinstance(part, Const) and type(part.value) is int


def _size(owner: Tensor, dimension: int) -> Host:
    return Host("int", Change.SHAPE, ("size", owner.storage.serial, ("const", dimension)))


def rank(call: Call, operation: operations.Operation, first: Tensor | None) -> int | None:
    if operation.reduces == "always":
        return 0
    last = operation.name.rpartition(".")[2]
    if operation.reduces == "without-dim":
        given = len(call.args) + (0 if isinstance(call.owner, (Tensor, Unknown)) else -1)
        return 0 if given <= 0 and not {"dim", "axis"} & set(call.arguments.kwargs) else None
    if operation.factory and first is None:
        return _factory_rank(call, last)
    if operation.dtype == "bool" or last in operations.listed("rank_keeping"):
        return first.ndim if first is not None else None
    return None


def _factory_rank(call: Call, last: str) -> int | None:
    if last in operations.listed("counting_factories"):
        return 1
    if last == "tensor":
        return 0 if call.args and isinstance(call.args[0], (Const, Host)) else None
    size = call.args[0] if call.args else call.arguments.kwargs.get("size")
    if isinstance(size, Sequence_):
        return len(size.items) if size.rest is None else None
    if isinstance(size, (Const, Host)) and last in operations.listed("sizes_by_position"):
        return len(call.args) if call.arguments.more is None else None
    return 1 if isinstance(size, (Const, Host)) and last == "full" else None
