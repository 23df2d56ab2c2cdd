"""Comprehensions: their elements, and whether more may follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import (
    assignments,
    conditions,
    elements,
    expressions,
    generators,
    item_writes,
    iterations,
    narrowing,
    orders,
    storing,
)
from graphlint.analysis.frames import Frame, Loop, Place
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import (
    Change,
    Mapping,
    Sequence_,
    Value,
    join_all,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def evaluate(
    m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
) -> Value:
    """A comprehension: its element for each known item, or for one or two unknown ones."""
    made = Mapping(frame.place(node)) if type(node) is ast.DictComp else None
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
    kind = "set" if type(node) is ast.SetComp else "list"
    rest = join_all(items) if open_ended and items else None
    result = Sequence_(items if rest is None else (), kind, rest, _change(items), frame.place(node))
    if rest is not None and type(node) is not ast.SetComp:
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
    _, rest = elements.of(m, iterable)
    open_ended = rest is not None
    for value in turns(m, frame.place(part.iter), iterable, frame):
        assignments.assign(m, part.target, value, frame, part.target)
        verdicts = [_filter(m, test, frame) for test in part.ifs]
        if False in verdicts:
            continue
        open_ended = open_ended or None in verdicts
        open_ended = _generate(m, node, depth + 1, frame, items, made) or open_ended
    known, _ = elements.of(m, iterable)
    return open_ended or len(known) > elements.UNROLLED


def turns(m: Machine, place: Place, iterable: Value, frame: Frame) -> Iterator[Value]:
    """The elements that a comprehension, or a `map`, is run for: each is a turn of a loop."""
    loop = Loop(0, place, iterations.count(iterable), iterable, orders.of(m, iterable))
    frame.loops.append(loop)
    values = iterations.chosen(m, iterable, each=True)
    for value in values:
        loop.current = value
        loop.iteration += 1
        began = m.steps
        yield value if m.captures else iterations.followed(m, value, loop)
        if loop.iteration == 1 and iterations.says_enough(m, place.node, iterable, began):
            del values[1:-1]
    frame.loops.remove(loop)


def _filter(m: Machine, test: ast.expr, frame: Frame) -> bool | None:
    value = expressions.evaluate(m, test, frame)
    truth = conditions.test(m, value, test, frame, "comprehension filter")
    narrowing.narrow(m, test, True, frame)
    return truth


def _element(m: Machine, node: ast.expr, frame: Frame, items: list[Value], made: Mapping | None) -> None:
    if type(node) is ast.DictComp:
        assert made is not None
        key = expressions.evaluate(m, node.key, frame)
        item_writes.set_item(m, made, key, expressions.evaluate(m, node.value, frame), None)
    else:
        items.append(expressions.evaluate(m, node.elt, frame))  # type: ignore[attr-defined]
