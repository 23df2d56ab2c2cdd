"""Assignments: what is bound to names, attributes, items and tuples of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    arithmetic,
    cells,
    elements,
    expressions,
    functions,
    indexing,
    item_writes,
    lazies,
    narrowing,
    storing,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import (
    NONE,
    Change,
    Const,
    Host,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join_all,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run_assign(m: Machine, node: ast.Assign, frame: Frame) -> None:
    value = expressions.evaluate(m, node.value, frame)
    for target in node.targets:
        assign(m, target, value, frame, node)
        if type(target) is ast.Name:
            narrowing.keep_test(target.id, node.value, value, frame)


def run_annotated(m: Machine, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        value = expressions.evaluate(m, node.value, frame)
        assign(m, node.target, functions.typed(m, value, node.annotation, frame), frame, node)


def run_augmented(m: Machine, node: ast.AugAssign, frame: Frame) -> None:
    target = _as_load(node.target)
    m.updating = True
    old = expressions.evaluate(m, target, frame)
    m.updating = False
    value = expressions.evaluate(m, node.value, frame)
    tensors = _tensors_of(old)
    for tensor in tensors:
        storing.in_place(m, tensor, node, frame, (value,))
    if tensors or (isinstance(old, Unknown) and old.reason == storing.DELETED):
        return  # memory stays what it is, and what is not there cannot be added to
    if isinstance(old, Sequence_) and isinstance(node.op, ast.Add):
        known, rest = elements.of(m, value)
        item_writes.extend(m, old, known, rest, node, frame)
        return
    result = arithmetic.binary(m, node, node.op, old, value, frame, augmented=True)
    if _counts_steps(m, node, result, frame):
        result = Host("int", Change.CHANGING)
        m.counted += 1
    assign(m, node.target, result, frame, node, augmented=True)


def _tensors_of(old: Value) -> list[Tensor]:
    """The tensors that a value is; none where it may be a number as well, which gets another name's value."""
    parts = [part for part in alternatives(old) if not (type(part) is Unknown or is_none(part))]
    tensors = [part for part in parts if type(part) is Tensor]
    return tensors if len(tensors) == len(parts) else []


def _counts_steps(m: Machine, node: ast.AugAssign, result: Value, frame: Frame) -> bool:
    """Whether eager code goes on to count in a field: it gets to numbers that the machine does not.

    The first time tells what is done at the beginning.
    """
    numbers = alternatives(result)
    is_number = all(isinstance(part, Const) and type(part.value) is int for part in numbers)
    if m.captures or not m.finished or not is_number or not isinstance(node.target, ast.Attribute):
        return False
    owner = narrowing.quiet(m, node.target.value, frame)
    if not isinstance(owner, Obj):
        return False
    if len(numbers) > 1 or frame.in_doubt:
        return True  # nobody knows how often this is done
    place, began = frame.place(node).key, m.finished[0].clock
    earlier = m.writes.get((id(owner.fields), node.target.attr), ())
    return any(write.place.key == place and write.clock >= began for write in earlier)


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        loaded: ast.expr = ast.Name(target.id, ast.Load())
    elif isinstance(target, ast.Attribute):
        loaded = ast.Attribute(target.value, target.attr, ast.Load())
    else:
        assert isinstance(target, ast.Subscript)
        loaded = ast.Subscript(target.value, target.slice, ast.Load())
    return ast.copy_location(loaded, target)


def assign(
    m: Machine,
    target: ast.expr,
    value: Value,
    frame: Frame,
    statement: ast.AST | None = None,
    *,
    augmented: bool = False,
) -> None:
    """Bind `value` to a target: name, attribute, item or a tuple of targets."""
    node = statement or target
    if type(target) is ast.Name:
        bind_name(m, target.id, value, frame, node)
    elif type(target) is ast.Attribute:
        owner = expressions.evaluate(m, target.value, frame)
        storing.put(m, owner, target.attr, value, node, frame, augmented=augmented)
    elif type(target) is ast.Subscript:
        owner = expressions.evaluate(m, target.value, frame)
        index = expressions.evaluate(m, target.slice, frame)
        item_writes.put_item(m, owner, index, value, node, frame)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(m, target.elts, value, frame, node)
    elif type(target) is ast.Starred:
        assign(m, target.value, value, frame, node)


def bind_name(m: Machine, name: str, value: Value, frame: Frame, node: ast.AST) -> None:
    """Bind a local, nonlocal or global name."""
    place = frame.place(node)
    if name in frame.globals_:
        storing.stored(m, None, m.env_of(frame.module).fields, name, value, place)
        return
    env = frame.env
    if name in frame.nonlocals:
        while env.parent is not None and name not in env.fields:
            env = env.parent
        if name not in env.fields:
            env = frame.env
    outer = env is not frame.env
    if outer and m.captures and any(not w.capturing for w in m.writes.get((id(env.fields), name), ())):
        lazies.note_filled(m, None, env.fields, name, value, place)
    noted = place if outer or not m.captures or type(value) is Tensor else None
    cells.write(m, env.fields, name, value, noted, local=not outer)


def _unpack(m: Machine, targets: list[ast.expr], value: Value, frame: Frame, node: ast.AST) -> None:
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    parts = unpacked(m, value, len(targets), star)
    for target, part in zip(targets, parts, strict=True):
        assign(m, target, part, frame, node)


def unpacked(m: Machine, value: Value, count: int, star: int | None = None) -> list[Value]:
    """Split a value over `count` targets."""
    if type(value) is Union:
        rows = [unpacked(m, part, count, star) for part in value.values if part is not NONE]
        return [join_all(row[i] for row in rows) for i in range(count)] if rows else [Unknown("none")] * count
    if type(value) is Obj and value.cls == "torch.Size" and star is None:
        return [indexing.size_of(value, Const(index)) for index in range(count)]
    known, rest = elements.of(m, value)
    if star is not None:
        tail = count - star - 1
        middle = Sequence_(known[star : len(known) - tail], "list", rest)
        last = list(known[len(known) - tail :]) if tail else []
        parts = [*known[:star], middle, *last]
    else:
        parts = list(known[:count])
    filler = rest if rest is not None else Unknown("unpacking")
    return [*parts, *([filler] * (count - len(parts)))][:count]
