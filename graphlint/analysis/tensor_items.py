"""Subscripts of tensors: views and copies, and what an index does to a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    extents,
    host_work,
    rows,
    storing,
    table_conditions,
    tensor_ops,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.parts import cells_of, tensors_in
from graphlint.analysis.values import (
    Const,
    Host,
    Sequence_,
    SliceValue,
    Tensor,
    Value,
    alternatives,
    is_none,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def tensor_index(m: Machine, index: Value, node: ast.AST, frame: Frame) -> None:
    """A device tensor used where Python wants an integer."""
    for part in alternatives(index):
        if isinstance(part, Tensor) and part.on_device:
            tensor_ops.effect(m, node, "Tensor.__index__", "scalar-read", (part,), frame, how="index")
        elif isinstance(part, Tensor):
            host_work.read_in_capture(m, [part])


def get(m: Machine, owner: Tensor, index: Value, node: ast.AST, frame: Frame) -> Value:
    _judge(m, "Tensor.__getitem__", owner, index, None, node, frame)
    ndim = _rank_after(owner, index)
    if _copies(index):
        tensor_ops.note_use(m, [owner], frame.place(node))
        made = m.tensor(owner.device, frame.place(node), owner.kind, ndim)
        made.library = owner.library
        rows.note_made(m, [*tensors_in(index)] or [owner], made)  # only the rows that are asked for go in
        return made
    part = owner.alias(ndim=ndim)
    part.part = index if extents.is_from_start(owner) else owner.part
    part.shape = extents.of_first_rows(owner, index)
    return part


def _copies(index: Value) -> bool:
    """Whether an index makes a new tensor; integers, slices and 0-d tensors of integers give a view."""
    return any(
        isinstance(one, Tensor) or (isinstance(one, Sequence_) and one.kind == "list")
        for part in table_conditions.parts_of(index)
        for one in alternatives(part)
    )


# How a subscript that affects a capture is named to the rules, by the condition that holds.
HOW = {
    "mask-index": "mask index",
    "scalar-index": "scalar index",
    "list-index": "list index",
    "cpu-index": "cpu index",
}


def _says_how_much(part: SliceValue, bound: Value) -> bool:
    """Whether a bound tells how much a slice takes: in `[i : i + n]` the `i` tells where."""
    return cells_of(part.lower).isdisjoint(cells_of(part.upper)) or bound is part.step


def _judge(
    m: Machine, name: str, owner: Tensor, index: Value, value: Value | None, node: ast.AST, frame: Frame
) -> None:
    """Emit what a subscript does to a capture, as the operation tables say, and its host numbers."""
    parts = table_conditions.parts_of(index)
    for part in parts:
        for bound in part.bounds if isinstance(part, SliceValue) else ():
            if isinstance(part, SliceValue) and _says_how_much(part, bound):
                m.note_size(bound)
            if isinstance(bound, Host) and not m.captures:
                m.partial.add(bound.symbol)
            tensor_ops.host_use(m, node, bound, "slice", frame)
        if not isinstance(part, (SliceValue, Tensor)):
            tensor_ops.host_use(m, node, part, "index", frame)
    holds = table_conditions.of_index(owner, index)
    how = next((word for condition, word in HOW.items() if condition in holds), "store")
    if value is not None:
        holds |= table_conditions.of_written(value)
        how = "mask store" if how == "mask index" else how
    operation = operations.method(name.removeprefix("Tensor."))
    effect = operation.effect_of(holds)
    if effect is not None and (owner.on_device or "scalar-index" in holds):
        operands = (owner, index) if value is None else (owner, index, value)
        tensor_ops.effect(m, node, name, effect.kind, operands, frame, how=how)


def _rank_after(owner: Tensor, index: Value) -> int | None:
    if owner.ndim is None:
        return None
    rank = owner.ndim
    for part in table_conditions.parts_of(index):
        if is_none(part):
            rank += 1
        elif (isinstance(part, Const) and part.value is Ellipsis) or isinstance(part, SliceValue):
            continue
        elif isinstance(part, Tensor):
            rank += (part.ndim or 1) - 1
        elif isinstance(part, (Const, Host)):
            rank -= 1
        else:
            return None
    return max(rank, 0)


def put(m: Machine, owner: Tensor, index: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    """Writing into a tensor keeps its memory; some indices and values need the host."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    _judge(m, "Tensor.__setitem__", owner, index, value, target, frame)
    if not isinstance(value, Tensor):
        tensor_ops.host_use(m, target, value, "fill", frame)
    storing.wrote_tensor(m, owner, value, node, frame)
