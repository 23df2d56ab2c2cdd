"""Elements: what iterating over a value yields, and values made of them: `range`, `zip`, `enumerate`."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from graphlint.analysis import (
    cells,
    classes,
    effects,
    generators,
    indexing,
    orders,
    parallel,
    walked,
)
from graphlint.analysis.graphs import Item
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, change_of
from graphlint.analysis.values import (
    MAX_ALTERNATIVES,
    Change,
    Class,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    is_none,
    join_all,
    now,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


UNROLLED = 4
RANGE_LIMIT = 64


def of(m: Machine, value: Value) -> tuple[tuple[Value, ...], Value | None]:
    """What iterating over `value` yields: known elements, and a join of further ones or None."""
    if type(value) is Sequence_:
        if m.captures:
            indexing.note_items_read(m, value)
            effects.take(m, value)
            walked.note(m, value)
            return _read_items(m, value)
        return value.items, value.rest
    if type(value) is Mapping:
        walked.note_table(m, value)
        return tuple(key for key, _ in value.entries()), None
    if type(value) is Tensor:
        row = value.alias(ndim=value.ndim - 1 if value.ndim else None)
        row.part = Unknown("row")
        return (), row
    if type(value) is Union:
        return _elements_of_any(m, [part for part in value.values if not is_none(part)])
    if type(value) is Obj:
        return _object_elements(m, value)
    if type(value) is Class and value.info.is_enum:
        members = [name for name, default in value.info.attributes.items() if default is not None]
        return tuple(classes.enum_member(value.info, name) for name in members), None
    if type(value) is Const and isinstance(value.value, str):
        return (), Host("str", Change.CONSTANT)
    return (), Unknown("element", change_of(value))


def _elements_of_any(m: Machine, among: list[Value]) -> tuple[tuple[Value, ...], Value | None]:
    """What iterating over one of several values yields; going through None raises, so it is none of them."""
    found = [of(m, part) for part in among]
    are_sequences = all(type(part) is Sequence_ and part.rest is None for part in among)
    if are_sequences and len({len(known) for known, _ in found}) == 1:
        columns = zip(*(known for known, _ in found), strict=True)
        return tuple(join_all(column) for column in columns), None
    return (), join_all(element for each in found for element in together(*each))


def _read_items(m: Machine, value: Sequence_) -> tuple[tuple[Value, ...], Value | None]:
    """The elements of a sequence that captured code goes through: each number knows where it comes from."""
    items, rest = value.items, value.rest
    if (value.kind == "list" or _is_of_call(m, value)) and len(items) <= UNROLLED:
        keyed = ((Item(index), item) for index, item in enumerate(items))
        items = tuple(
            cells.tainted(m, value.fields, key, item, m.frame.here, value, f"[{key.index}]")
            for key, item in keyed
        )
    if value.serial in m.sequence_cells:
        items = tuple(effects.tainted_element(m, value, item) for item in items)
        rest = effects.tainted_element(m, value, rest) if rest is not None else None
    return items, rest


def _is_of_call(m: Machine, value: Sequence_) -> bool:
    """Whether a tuple holds the arguments that a call in progress has no names for: `*args`."""
    return any(
        frame.function is not None
        and (spec := frame.function.node.args.vararg) is not None
        and frame.env.fields.get(spec.arg) is value
        for frame in m.frames
    )


def all_elements(m: Machine, value: Value) -> list[Value]:
    """What iterating over `value` yields, one value standing for those that are not known one by one."""
    return together(*of(m, value))


def together(known: tuple[Value, ...], rest: Value | None) -> list[Value]:
    return list(known) if rest is None else [*known, rest]


def _object_elements(m: Machine, value: Obj) -> tuple[tuple[Value, ...], Value | None]:
    if isinstance(value.cls, str):
        held = value.fields.get("elements")
        if type(held) is Sequence_:
            return held.items, held.rest
        if value.cls.startswith("torch.nn."):
            return (), Obj("torch.nn.Module", value.site)
        if value.cls == "generator":
            return generators.collect(m, value)
        return (), Unknown(
            "element", Change.CHANGING if value.cls == "torch.utils.data.DataLoader" else Change.CONFIG
        )
    table = value.fields.get("elements")
    if type(table) is Mapping and value.cls.find("__iter__") is None:
        return of(m, table)
    fields = indexing.tuple_of(m, value)
    return (fields.items, None) if fields is not None else generators.iterate_object(m, value)


def counts(iterable: Value) -> bool:
    """Whether the elements are steps of the program rather than its configuration: data, or counting."""
    if isinstance(iterable, Sequence_):
        return iterable.kind in ("range", "counted")
    return isinstance(iterable, (Unknown, Obj))


def range_of(args: tuple[Value, ...]) -> Value:
    """`range(...)`: its numbers when they are few and known, else a host integer of the bounds' nature."""
    numbers = [a.value for a in args if isinstance(a, Const) and isinstance(a.value, int)]
    cells = frozenset().union(*(cells_of(a) for a in args))
    length = None
    if len(numbers) == len(args) and args:
        span = range(*numbers) if numbers[-1] != 0 or len(numbers) < 3 else range(0)
        if len(span) <= RANGE_LIMIT:
            return Sequence_([Const(i, cells) for i in span], "range")
        length = len(span)
    change = max((change_of(a) for a in args), default=Change.CONFIG)
    symbol = ("range", now(), *(identity_of(a) for a in args))
    made = Sequence_((), "range", Host("int", change, symbol, cells), change)
    made.length = length
    return made


def enumerated(m: Machine, value: Value, start: Value) -> Value:
    parallel.draw(m, value)
    known, rest = of(m, value)
    pairs = [Sequence_([Const(i), item], "tuple") for i, item in enumerate(known)]
    change = max(change_of(value), change_of(rest) if rest is not None else Change.CONFIG)
    more = Sequence_([Host("int", change), rest], "tuple") if rest is not None else None
    made = Sequence_(pairs, "counted" if counts(value) else "list", more, change)
    orders.note(m, made, orders.of(m, value), part=1)
    return made


def zipped(m: Machine, values: tuple[Value, ...]) -> Value:
    for value in values:
        parallel.draw(m, value)
    columns = [of(m, value) for value in values]
    if not columns:
        return Sequence_()
    if all(known and rest is None for known, rest in columns):
        rows = zip(*(known for known, _ in columns), strict=False)
        made = Sequence_([Sequence_(row, "tuple") for row in rows])
    else:
        held = [together(*column) for column in columns]
        parts = [join_all(column) if column else Unknown("empty") for column in held]
        made = Sequence_((), "list", Sequence_(parts, "tuple"))
    found = [(index, order) for index, value in enumerate(values) if (order := orders.of(m, value))]
    if found:
        orders.note(m, made, found[0][1], part=found[0][0])
    return made


def product(m: Machine, values: tuple[Value, ...]) -> Value:
    """`itertools.product(...)`: the tuples one by one when they are few, else like ones, and how many."""
    columns = [of(m, value) for value in values]
    lengths = [
        getattr(value, "length", None) if rest is not None else len(known)
        for value, (known, rest) in zip(values, columns, strict=True)
    ]
    length = None if None in lengths else math.prod(each or 0 for each in lengths)
    if length is not None and length <= RANGE_LIMIT and all(rest is None for _, rest in columns):
        rows = itertools.product(*(known for known, _ in columns))
        made = Sequence_([Sequence_(row, "tuple") for row in rows])
    else:
        made = Sequence_((), "list", Sequence_([_any_of(*column) for column in columns], "tuple"))
        made.length = length
    if values and (order := orders.of(m, values[0])):  # the first one changes least often
        orders.note(m, made, order, part=0)
    return made


def _any_of(known: tuple[Value, ...], rest: Value | None) -> Value:
    """One value for all elements of a column."""
    if len(known) > MAX_ALTERNATIVES and all(isinstance(each, Const) for each in known):
        return Host("any", Change.CONFIG)
    return join_all(together(known, rest)) if known or rest is not None else Unknown("empty")


def joined_elements(m: Machine, value: Value) -> Value:
    """One value that stands for every element."""
    parts = all_elements(m, value)
    return join_all(parts) if parts else Unknown("empty")
