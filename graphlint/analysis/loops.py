"""Loops and comprehensions: what iterating yields, and running a body often enough to see repetition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import (
    assignments,
    bounds,
    classes,
    conditions,
    effects,
    expressions,
    generators,
    indexing,
    narrowing,
    orders,
    parallel,
    phases,
    statements,
    storing,
    tensor_ops,
    walked,
)
from graphlint.analysis.events import LoopStarted
from graphlint.analysis.frames import Frame, Loop, Place
from graphlint.analysis.graphs import Item
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, change_of
from graphlint.analysis.values import (
    Cell,
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
    alternatives,
    is_none,
    join_all,
    now,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

UNROLLED = 4
# From how many steps on a turn is costly: of a range that is only looked into, two turns are enough then.
COSTLY = 200
RANGE_LIMIT = 64


def elements_of(m: Machine, value: Value) -> tuple[tuple[Value, ...], Value | None]:
    """What iterating over `value` yields: known elements, and a join of further ones or None."""
    if isinstance(value, Sequence_):
        if m.captures:
            indexing.note_items_read(m, value)
            effects.take(m, value)
            walked.note(m, value)
            return _read_items(m, value)
        return value.items, value.rest
    if isinstance(value, Mapping):
        walked.note_table(m, value)
        return tuple(key for key, _ in value.entries()), None
    if isinstance(value, Tensor):
        row = value.alias(ndim=value.ndim - 1 if value.ndim else None)
        return (), row
    if isinstance(value, Union):
        return _elements_of_any(m, [part for part in value.values if not is_none(part)])
    if isinstance(value, Obj):
        return _object_elements(m, value)
    if isinstance(value, Class) and value.info.is_enum:
        members = [name for name, default in value.info.attributes.items() if default is not None]
        return tuple(classes.enum_member(value.info, name) for name in members), None
    if isinstance(value, Const) and isinstance(value.value, str):
        return (), Host("str", Change.CONSTANT)
    return (), Unknown("element", change_of(value))


def _elements_of_any(m: Machine, among: list[Value]) -> tuple[tuple[Value, ...], Value | None]:
    """What iterating over one of several values yields; going through None raises, so it is none of them."""
    found = [elements_of(m, part) for part in among]
    are_sequences = all(isinstance(part, Sequence_) and part.rest is None for part in among)
    if are_sequences and len({len(known) for known, _ in found}) == 1:
        columns = zip(*(known for known, _ in found), strict=True)
        return tuple(join_all(column) for column in columns), None
    return (), join_all(element for each in found for element in _together(*each))


def _read_items(m: Machine, value: Sequence_) -> tuple[tuple[Value, ...], Value | None]:
    """The elements of a sequence that captured code goes through: each number knows where it comes from."""
    items, rest = value.items, value.rest
    if value.kind == "list" and len(items) <= UNROLLED:
        cells = ((Item(index), item) for index, item in enumerate(items))
        items = tuple(
            m.tainted(value.fields, key, item, m.frame.here, value, f"[{key.index}]") for key, item in cells
        )
    if value.serial in m.sequence_cells:
        items = tuple(effects.tainted_element(m, value, item) for item in items)
        rest = effects.tainted_element(m, value, rest) if rest is not None else None
    return items, rest


def all_elements(m: Machine, value: Value) -> list[Value]:
    """What iterating over `value` yields, one value standing for those that are not known one by one."""
    return _together(*elements_of(m, value))


def _together(known: tuple[Value, ...], rest: Value | None) -> list[Value]:
    return list(known) if rest is None else [*known, rest]


def _object_elements(m: Machine, value: Obj) -> tuple[tuple[Value, ...], Value | None]:
    if isinstance(value.cls, str):
        held = value.fields.get("elements")
        if isinstance(held, Sequence_):
            return held.items, held.rest
        if value.cls.startswith("torch.nn."):
            return (), Obj("torch.nn.Module", value.site)
        if value.cls == "generator":
            return generators.collect(m, value)
        return (), Unknown(
            "element", Change.CHANGING if value.cls == "torch.utils.data.DataLoader" else Change.CONFIG
        )
    table = value.fields.get("elements")
    if isinstance(table, Mapping) and value.cls.find("__iter__") is None:
        return elements_of(m, table)
    fields = indexing.tuple_of(m, value)
    return (fields.items, None) if fields is not None else generators.iterate_object(m, value)


def run_for(m: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    """A `for` loop: known elements one by one, else twice outside a capture and once inside."""
    loaders = len(m.loaders)
    iterable = generators.begun(m, expressions.evaluate(m, node.iter, frame))
    parallel.draw(m, iterable)
    _announce(m, node, iterable, frame)
    _run_over(m, node, iterable, frame)
    del m.loaders[loaders:]


def _run_over(m: Machine, node: ast.For | ast.AsyncFor, iterable: Value, frame: Frame) -> None:
    if isinstance(iterable, Obj) and iterable.cls == "generator" and generators.is_project(iterable):
        generators.run_body(m, iterable, node, frame)
        return
    values = _iterations(m, iterable)
    if not m.captures and len(values) < _count_of(iterable) and phases.has(node):
        values = [values[0], *(Host("int", Change.CHANGING) for _ in range(phases.TURNS - 1))]
    if not values:
        statements.execute(m, node.orelse, frame)
        return
    _run_iterations(m, node, iterable, values, frame)


def _count(iterable: Value) -> int | None:
    """How often a loop over `iterable` runs, where that is known."""
    if not isinstance(iterable, Sequence_):
        return None
    return len(iterable.items) if iterable.rest is None else iterable.length


def _count_of(iterable: Value) -> int:
    """How many numbers a loop counts through, 0 when it goes over something else."""
    is_range = isinstance(iterable, Sequence_) and iterable.kind == "range"
    return (_count(iterable) or 0) if is_range else 0


def _announce(m: Machine, node: ast.For | ast.AsyncFor, iterable: Value, frame: Frame) -> None:
    for part in alternatives(iterable):
        if isinstance(part, Tensor) and part.on_device and part.ndim == 0 and m.captures:
            tensor_ops.effect(m, node.iter, "Tensor.__iter__", "scalar-read", (part,), frame, how="for")
    m.emit(LoopStarted(place=frame.place(node), iterable=iterable, data=node))


def _iterations(m: Machine, iterable: Value, *, each: bool = False) -> list[Value]:
    """The element of each iteration that will be run; empty when the loop certainly does not run.

    With `each` also in captured code every element counts: what is made of them is a value.
    """
    effects.read_list(m, iterable)
    known, rest = elements_of(m, iterable)
    if known and (len(known) <= UNROLLED or _are_modules(iterable)):
        chosen = list(known)
    elif known:
        chosen = _representatives(m, iterable, known)
    else:
        chosen = []
    if rest is not None:
        changes = not m.captures and not m.earlier and _counts(iterable)
        chosen += [_renewed(part, changes) for part in _one_by_one(rest)]
        if not m.captures and len(chosen) < 2:
            chosen.append(_renewed(rest, changes))
    if m.captures and len(chosen) > 1 and not (each and rest is None):
        chosen = _distinct(chosen)
    return chosen


def _are_modules(iterable: Value) -> bool:
    """Whether a loop goes over the modules within one: each is of a kind of its own."""
    return isinstance(iterable, Sequence_) and iterable.kind == "modules"


def _one_by_one(rest: Value) -> list[Value]:
    """What stands for further elements: a loop comes to each of several objects, also within tuples."""
    parts = alternatives(rest)
    if 1 < len(parts) <= UNROLLED and all(isinstance(part, Obj) for part in parts):
        return list(parts)
    if isinstance(rest, Sequence_) and rest.kind == "tuple" and rest.rest is None:
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
    """The first elements and the last; in eager code a number between them may be any that is asked for."""
    second, last = known[1], known[-1]
    middle: list[Value] = []
    if not m.captures and isinstance(iterable, Sequence_) and iterable.kind == "range":
        if isinstance(second, Const) and isinstance(last, Const) and second.value + 1 < last.value:
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
    if isinstance(value, Obj):
        return value if value.cls in ("torch.cuda.Stream", "torch.cuda.Event") else (value.cls, value.label)
    return type(value) if isinstance(value, Tensor) else value


def _counts(iterable: Value) -> bool:
    """Whether the elements are steps of the program rather than its configuration: data, or counting."""
    if isinstance(iterable, Sequence_):
        return iterable.kind in ("range", "counted")
    return isinstance(iterable, (Unknown, Obj))


def _renewed(value: Value, changes: bool = False, depth: int = 6) -> Value:
    """Another element of the same kind: an unknown number of each iteration is its own, also in tuples."""
    if isinstance(value, Host):
        symbol = ("turn", now(), value.symbol) if isinstance(value.symbol, tuple) else None
        return Host(value.kind, Change.CHANGING if changes else value.change, symbol, value.cells)
    if isinstance(value, Unknown) and changes:
        return Unknown(value.reason, Change.CHANGING, value.typed)
    if isinstance(value, Sequence_) and value.kind == "tuple" and depth:
        items = [_renewed(part, changes, depth - 1) for part in value.items]
        return Sequence_(items, "tuple", value.rest, value.change)
    return value


def _run_iterations(
    m: Machine, node: ast.For | ast.AsyncFor, iterable: Value, values: list[Value], frame: Frame
) -> None:
    loop = Loop(m.heap.open(), frame.place(node), _count(iterable), iterable, orders.of(m, iterable))
    frame.loops.append(loop)
    counted, turns_, captured = m.counted, len(values), len(m.finished)
    for value in values:
        before = len(m.finished)
        m.step += not m.captures
        loop.current = value
        loop.iteration += 1
        began = m.steps
        element = value if m.captures else _followed(m, value, loop)
        assignments.assign(m, node.target, element, frame, node.target)
        run_once(m, node.body, loop, frame)
        if not frame.reachable:
            break
        if loop.iteration == 1 and _says_enough(m, node, iterable, began):
            del values[1:-1]
            turns_ = len(values)
        if m.captures or loop.iteration != turns_:
            continue
        late = 1 < turns_ != loop.count and captured == before < len(m.finished)
        if late or m.counted > counted:
            values.append(_renewed(value))  # something is done in some turns only: the next one finds it
    if frame.reachable:
        statements.execute(m, node.orelse, frame)
    frame.loops.pop()
    _leave(m, loop, frame)


def _says_enough(m: Machine, node: ast.AST, iterable: Value, began: int) -> bool:
    """Whether of a range of which a few turns stand for all the first was costly and led to no capture.

    Layers are made like this, and warm-ups: the first turn and the last are enough.
    """
    is_loop = isinstance(node, (ast.For, ast.AsyncFor)) and phases.has(node)
    is_looked_into = _count_of(iterable) > UNROLLED and not is_loop
    return is_looked_into and not m.has_graphs and m.steps - began >= COSTLY


def _followed(m: Machine, value: Value, loop: Loop) -> Value:
    """The element of an iteration, with a cell that tells where it and numbers computed from it are used."""
    cell = (id(loop), "element")
    m.loop_cells[cell] = loop
    part = orders.part_of(m, loop.iterable)
    if isinstance(part, int) and isinstance(value, Sequence_) and len(value.items) > part:
        items = list(value.items)
        items[part] = _with_cell(items[part], cell)
        return Sequence_(items, value.kind, value.rest, value.change, value.site)
    if isinstance(part, str):
        for record in alternatives(value):
            held = record.fields.get(part) if isinstance(record, Obj) else None
            if isinstance(record, Obj) and isinstance(held, Value):
                m.heap.write(record.fields, part, _with_cell(held, cell))
    return _with_cell(value, cell)


def _with_cell(value: Value, cell: Cell) -> Value:
    if isinstance(value, Host):
        return Host(value.kind, value.change, value.symbol, value.cells | {cell})
    if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return Const(value.value, value.cells | {cell})
    if isinstance(value, Sequence_) and value.kind == "tuple":
        items = [_with_cell(item, cell) for item in value.items]
        return Sequence_(items, "tuple", value.rest, value.change, value.site)
    if isinstance(value, Union):
        return Union(tuple(_with_cell(part, cell) for part in value.values))
    return value


def run_once(m: Machine, body: list[ast.stmt], loop: Loop, frame: Frame) -> None:
    """One iteration; `continue` rejoins the end of the body."""
    loop.continues.clear()
    statements.execute(m, body, frame)
    if not loop.continues:
        return
    outcomes = list(loop.continues)
    if frame.reachable:
        outcomes.append(m.heap.snapshot(loop.level))
    m.heap.undo()
    m.heap.open()
    m.heap.merge(outcomes)
    frame.reachable = True


def run_yielded(m: Machine, node: ast.For | ast.AsyncFor, item: Value, loop: Loop, frame: Frame) -> None:
    """The body of a loop over a generator, for one element that it has yielded."""
    loop.level = m.heap.open()
    loop.iteration += 1
    frame.loops.append(loop)
    assignments.assign(m, node.target, item, frame, node.target)
    run_once(m, node.body, loop, frame)
    frame.loops.remove(loop)
    _leave(m, loop, frame)
    loop.breaks.clear()
    frame.reachable = True


def _leave(m: Machine, loop: Loop, frame: Frame) -> None:
    if not loop.breaks:
        m.heap.close()
        return
    outcomes = list(loop.breaks)
    if frame.reachable:
        outcomes.append(m.heap.snapshot(loop.level))
    m.heap.undo()
    m.heap.merge(outcomes)
    frame.reachable = True


def run_while(m: Machine, node: ast.While, frame: Frame) -> None:
    """A `while` loop: its test is control flow; the body runs at most twice."""
    counter, order = orders.counted(node)
    loop = Loop(m.heap.open(), frame.place(node.test), order=order)
    frame.loops.append(loop)
    in_phases = bool(counter) and not m.captures and phases.has(node)
    for _ in range(1 if m.captures else phases.TURNS if in_phases else 2):
        loop.iteration += 1
        if in_phases and loop.iteration > 1 and isinstance(frame.env.fields.get(counter), Const):
            m.heap.write(frame.env.fields, counter, Host("int", Change.CHANGING))
        _follow_counter(m, counter, loop, frame)
        m.step += not m.captures
        value = expressions.evaluate(m, node.test, frame)
        truth = conditions.test(m, value, node.test, frame, "while")
        if truth is False:
            break
        run_once(m, node.body, loop, frame)
        if not frame.reachable:
            break
    if frame.reachable:
        statements.execute(m, node.orelse, frame)
    frame.loops.pop()
    _leave(m, loop, frame)


def _follow_counter(m: Machine, counter: str, loop: Loop, frame: Frame) -> None:
    """Tell where the number that a `while` loop counts with is used, as for the element of a `for` loop."""
    value = frame.env.fields.get(counter)
    if not m.captures and isinstance(value, (Const, Host)):
        m.loop_cells[(id(loop), "element")] = loop
        m.heap.write(frame.env.fields, counter, _with_cell(value, (id(loop), "element")))


def comprehension(
    m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
) -> Value:
    """A comprehension: its element for each known item, or for one or two unknown ones."""
    made = Mapping(frame.place(node)) if isinstance(node, ast.DictComp) else None
    if made is not None:
        m.note_made(made)
    items: list[Value] = []
    inner = generators.nested_frame(m, frame)
    m.frames.append(inner)
    try:
        source = expressions.evaluate(m, node.generators[0].iter, inner)
        open_ended = _generate(m, node, 0, inner, items, made, source)
    finally:
        m.frames.pop()
    if isinstance(node, (ast.ListComp, ast.SetComp)):
        for item in items:
            storing.note_kept(m, item, frame.place(node.elt))
    if made is not None:
        return made
    kind = "set" if isinstance(node, ast.SetComp) else "list"
    rest = join_all(items) if open_ended and items else None
    result = Sequence_(items if rest is None else (), kind, rest, _change(items), frame.place(node))
    if rest is not None and not isinstance(node, ast.SetComp):
        orders.keep_through(m, node, result, source)
    return result


def _change(items: list[Value]) -> Change:
    return max((change_of(item) for item in items), default=Change.CONFIG)


def _generate(
    m: Machine,
    node: ast.expr,
    depth: int,
    frame: Frame,
    items: list[Value],
    made: Mapping | None,
    source: Value | None = None,
) -> bool:
    """Run the generators from `depth` on, over `source`; True when the number of elements is not known."""
    generators_ = node.generators  # type: ignore[attr-defined]
    if depth == len(generators_):
        _element(m, node, frame, items, made)
        return False
    part = generators_[depth]
    iterable = source if source is not None else expressions.evaluate(m, part.iter, frame)
    _, rest = elements_of(m, iterable)
    open_ended = rest is not None
    for value in turns(m, frame.place(part.iter), iterable, frame):
        assignments.assign(m, part.target, value, frame, part.target)
        verdicts = [_filter(m, test, frame) for test in part.ifs]
        if False in verdicts:
            continue
        open_ended = open_ended or None in verdicts
        open_ended = _generate(m, node, depth + 1, frame, items, made) or open_ended
    known, _ = elements_of(m, iterable)
    return open_ended or len(known) > UNROLLED


def turns(m: Machine, place: Place, iterable: Value, frame: Frame) -> Iterator[Value]:
    """The elements that a comprehension, or a `map`, is run for: each is a turn of a loop."""
    loop = Loop(0, place, _count(iterable), iterable, orders.of(m, iterable))
    frame.loops.append(loop)
    values = _iterations(m, iterable, each=True)
    for value in values:
        loop.current = value
        loop.iteration += 1
        began = m.steps
        yield value if m.captures else _followed(m, value, loop)
        if loop.iteration == 1 and _says_enough(m, place.node, iterable, began):
            del values[1:-1]
    frame.loops.remove(loop)


def _filter(m: Machine, test: ast.expr, frame: Frame) -> bool | None:
    value = expressions.evaluate(m, test, frame)
    truth = conditions.test(m, value, test, frame, "comprehension filter")
    narrowing.narrow(m, test, True, frame)
    return truth


def _element(m: Machine, node: ast.expr, frame: Frame, items: list[Value], made: Mapping | None) -> None:
    if isinstance(node, ast.DictComp):
        assert made is not None
        key = expressions.evaluate(m, node.key, frame)
        indexing.set_item(m, made, key, expressions.evaluate(m, node.value, frame), None)
    else:
        items.append(expressions.evaluate(m, node.elt, frame))  # type: ignore[attr-defined]


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
    known, rest = elements_of(m, value)
    pairs = [Sequence_([Const(i), item], "tuple") for i, item in enumerate(known)]
    change = max(change_of(value), change_of(rest) if rest is not None else Change.CONFIG)
    more = Sequence_([Host("int", change), rest], "tuple") if rest is not None else None
    made = Sequence_(pairs, "counted" if _counts(value) else "list", more, change)
    orders.note(m, made, orders.of(m, value), part=1)
    return made


def zipped(m: Machine, values: tuple[Value, ...]) -> Value:
    for value in values:
        parallel.draw(m, value)
    columns = [elements_of(m, value) for value in values]
    if not columns:
        return Sequence_()
    if all(known and rest is None for known, rest in columns):
        rows = zip(*(known for known, _ in columns), strict=False)
        made = Sequence_([Sequence_(row, "tuple") for row in rows])
    else:
        held = [_together(*column) for column in columns]
        parts = [join_all(column) if column else Unknown("empty") for column in held]
        made = Sequence_((), "list", Sequence_(parts, "tuple"))
    found = [(index, order) for index, value in enumerate(values) if (order := orders.of(m, value))]
    if found:
        orders.note(m, made, found[0][1], part=found[0][0])
    return made


def joined_elements(m: Machine, value: Value) -> Value:
    """One value that stands for every element."""
    parts = all_elements(m, value)
    return join_all(parts) if parts else Unknown("empty")
