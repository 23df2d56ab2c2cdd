"""Which turns of a loop are run, and what stands for its element in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    bounds,
    effects,
    elements,
    orders,
    phases,
)
from graphlint.analysis.frames import Loop
from graphlint.analysis.values import (
    Cell,
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
    now,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


# From how many steps on a turn is costly: of a range that is only looked into, two turns are enough then.
COSTLY = 200
# So many loops of one call within each other are run several times each; those further in are run once.
DEEPEST = 4


def count(iterable: Value) -> int | None:
    """How often a loop over `iterable` runs, where that is known."""
    if type(iterable) is not Sequence_:
        return None
    return len(iterable.items) if iterable.rest is None else iterable.length


def count_of(iterable: Value) -> int:
    """How many numbers a loop counts through, 0 when it goes over something else."""
    is_range = type(iterable) is Sequence_ and iterable.kind == "range"
    return (count(iterable) or 0) if is_range else 0


def chosen(m: Machine, iterable: Value, *, each: bool = False) -> list[Value]:
    """The element of each iteration that will be run; empty when the loop certainly does not run.

    With `each` also in captured code every element counts: what is made of them is a value.
    """
    effects.read_list(m, iterable)
    known, rest = elements.of(m, iterable)
    if known and (len(known) <= elements.UNROLLED or _are_modules(iterable)):
        chosen = list(known)
    elif known:
        chosen = _representatives(m, iterable, known)
    else:
        chosen = []
    if rest is not None:
        changes = not m.captures and not m.earlier and elements.counts(iterable)
        chosen += [renewed(part, changes) for part in _one_by_one(rest)]
        if not m.captures and len(chosen) < 2:
            chosen.append(renewed(rest, changes))
    if m.captures and len(chosen) > 1 and not (each and rest is None):
        chosen = _distinct(chosen)
    return chosen


def _are_modules(iterable: Value) -> bool:
    """Whether a loop goes over the modules within one: each is of a kind of its own."""
    return type(iterable) is Sequence_ and iterable.kind == "modules"


def _one_by_one(rest: Value) -> list[Value]:
    """What stands for further elements: a loop comes to each of several objects, also within tuples."""
    parts = alternatives(rest)
    if 1 < len(parts) <= elements.UNROLLED and all(type(part) is Obj for part in parts):
        return list(parts)
    if type(rest) is Sequence_ and rest.kind == "tuple" and rest.rest is None:
        columns = [_one_by_one(item) for item in rest.items]
        count = max(map(len, columns), default=1)
        if count > 1:
            columns = [
                c if len(c) == count else [item] * count for c, item in zip(columns, rest.items, strict=True)
            ]
            rows = zip(*columns, strict=True)
            return [Sequence_(row, "tuple", None, rest.change, rest.site) for row in rows]
    return [rest]


def _representatives(m: Machine, iterable: Value, known: tuple[Value, ...]) -> list[Value]:
    """The first elements and the last; in eager code a number between them may be any that is asked for.

    Within many other loops the first alone: each loop would take three times the steps of the one around it.
    """
    if len(m.frame.loops) >= DEEPEST:
        return [known[0]]
    second, last = known[1], known[-1]
    middle: list[Value] = []
    if not m.captures and type(iterable) is Sequence_ and iterable.kind == "range":
        if type(second) is Const and type(last) is Const and second.value + 1 < last.value:
            middle = [bounds.between(second.value + 1, last.value - 1)]
    return [known[0], second, *middle, last]


def _distinct(values: list[Value]) -> list[Value]:
    """One element of each kind: in captured code more of the same shows nothing new."""
    kept: dict[object, Value] = {}
    for value in values:
        kept.setdefault(_kind(value), value)
    return list(kept.values())


def _kind(value: Value) -> object:
    """What tells elements of a loop apart; every stream and event has to be joined for itself."""
    if type(value) is Obj:
        return value if value.cls in ("torch.cuda.Stream", "torch.cuda.Event") else (value.cls, value.label)
    return type(value) if type(value) is Tensor else value


def renewed(value: Value, changes: bool = False, depth: int = 6) -> Value:
    """Another element of the same kind: an unknown number of each iteration is its own, also in tuples."""
    if type(value) is Host:
        symbol = ("turn", now(), value.symbol) if isinstance(value.symbol, tuple) else None
        return Host(value.kind, Change.CHANGING if changes else value.change, symbol, value.cells)
    if type(value) is Unknown and changes:
        return Unknown(value.reason, Change.CHANGING, value.typed)
    if type(value) is Sequence_ and value.kind == "tuple" and depth:
        items = [renewed(part, changes, depth - 1) for part in value.items]
        return Sequence_(items, "tuple", value.rest, value.change)
    return value


def says_enough(m: Machine, node: ast.AST, iterable: Value, began: int) -> bool:
    """Whether of a range of which a few turns stand for all the first was costly and led to no capture.

    Layers are made like this, and warm-ups: the first turn and the last are enough.
    """
    is_loop = isinstance(node, (ast.For, ast.AsyncFor)) and phases.has(node)
    is_looked_into = count_of(iterable) > elements.UNROLLED and not is_loop
    return is_looked_into and not m.has_graphs and m.steps - began >= COSTLY


def followed(m: Machine, value: Value, loop: Loop) -> Value:
    """The element of an iteration, with a cell that tells where it and numbers computed from it are used."""
    cell = (id(loop), "element")
    m.loop_cells[cell] = loop
    part = orders.part_of(m, loop.iterable)
    if isinstance(part, int) and type(value) is Sequence_ and len(value.items) > part:
        items = list(value.items)
        items[part] = with_loop_cell(items[part], cell)
        return Sequence_(items, value.kind, value.rest, value.change, value.site)
    if isinstance(part, str):
        for record in alternatives(value):
            held = record.fields.get(part) if type(record) is Obj else None
            if type(record) is Obj and isinstance(held, Value):
                m.heap.write(record.fields, part, with_loop_cell(held, cell))
    return with_loop_cell(value, cell)


def with_loop_cell(value: Value, cell: Cell) -> Value:
    if type(value) is Host:
        return Host(value.kind, value.change, value.symbol, value.cells | {cell})
    if type(value) is Const and isinstance(value.value, int) and not isinstance(value.value, bool):
        return Const(value.value, value.cells | {cell})
    if type(value) is Sequence_ and value.kind == "tuple":
        items = [with_loop_cell(item, cell) for item in value.items]
        return Sequence_(items, "tuple", value.rest, value.change, value.site)
    if type(value) is Union:
        return Union(tuple(with_loop_cell(part, cell) for part in value.values))
    return value
