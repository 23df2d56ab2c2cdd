"""What expressions mean: each node type has one function that gives its abstract value."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    arithmetic,
    assignments,
    attributes,
    calls,
    comparisons,
    comprehensions,
    conditions,
    correlations,
    definitions,
    elements,
    generators,
    indexing,
    item_writes,
    names,
    narrowing,
    outputs,
    texts,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.values import (
    FALSE,
    INERT,
    NONE,
    TRUE,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    SliceValue,
    Unknown,
    Value,
    alternatives,
    is_none,
    join,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def evaluate(m: Machine, node: ast.expr, frame: Frame) -> Value:
    """The abstract value of an expression; every effect on the way is emitted as an event."""
    m.steps += 1  # as `spend` does: this is called for every expression
    if m.steps > m.limit:
        m.budget.look()
    handler = _handlers().get(type(node))
    return handler(m, node, frame) if handler is not None else Unknown(type(node).__name__)


def _constant(m: Machine, node: ast.Constant, frame: Frame) -> Value:
    value = node.value
    if value is None:
        return NONE
    if value is True:
        return TRUE
    return FALSE if value is False else Const(value)


def _name(m: Machine, node: ast.Name, frame: Frame) -> Value:
    value: Value | None = frame.env.fields.get(node.id)
    if value is None or (m.has_graphs and type(value) not in INERT):
        return names.lookup(m, node.id, frame, node)
    return value


def _attribute(m: Machine, node: ast.Attribute, frame: Frame) -> Value:
    if m.captures and not m.meta_read and node.attr in operations.listed("describing"):
        m.meta_read = True
        try:
            owner = evaluate(m, node.value, frame)
        finally:
            m.meta_read = False
    else:
        owner = evaluate(m, node.value, frame)
    value = attributes.get(m, owner, node.attr, node, frame)
    return narrowing.narrowed(m, node, value, frame)


def _boolean(m: Machine, node: ast.BoolOp, frame: Frame) -> Value:
    """`and`/`or`: later operands are evaluated under what the earlier ones imply."""
    wanted = isinstance(node.op, ast.And)
    results: list[Value] = []
    mark = len(frame.conditions)
    undo: list[narrowing.Narrowing] = []
    operands: list[tuple[ast.expr, Value]] = []
    try:
        for index, operand in enumerate(node.values):
            value = evaluate(m, operand, frame)
            results.append(value)
            operands.append((operand, value))
            if index == len(node.values) - 1:
                frame.operands[node] = operands
                if correlations.answer_of(m, value) is (not wanted):
                    return Const(not wanted)
                break
            truth = conditions.test(m, value, operand, frame, "and" if wanted else "or")
            if truth is not None and truth is not wanted:
                return value if index == 0 or len(results) == 1 else join_all(results)
            if truth is not None:
                results.pop()
            conditions.push(m, operand, value, wanted, truth is not None, frame)
            undo.append(narrowing.narrow(m, operand, wanted, frame))
    finally:
        del frame.conditions[mark:]
        for saved in reversed(undo):
            narrowing.restore(m, frame, saved)
    return _of_either(wanted, results)


def _of_either(both: bool, results: list[Value]) -> Value:
    """One of several numbers, chosen by what they are: the same numbers give the same one again."""
    first, last = results[0], results[-1]
    if len(results) == 2 and isinstance(first, Host) and isinstance(last, (Host, Const)):
        if first.kind in ("int", "float") and not is_none(last):
            return arithmetic.derived(("either", both), first, last, kind=first.kind)
    return join_all(results)


def _conditional(m: Machine, node: ast.IfExp, frame: Frame) -> Value:
    test = evaluate(m, node.test, frame)
    truth = conditions.test(m, test, node.test, frame, "conditional expression")
    if truth is not None:
        return _under(m, node.test, test, truth, True, node.body if truth else node.orelse, frame)
    taken: list[Value] = []
    outcomes: list[Snapshot] = []
    for polarity, arm in ((True, node.body), (False, node.orelse)):
        m.heap.open()
        taken.append(_under(m, node.test, test, polarity, False, arm, frame))
        outcomes.append(m.heap.undo())
    m.heap.merge(outcomes)
    return correlations.chosen(test, *taken)


def _under(
    m: Machine, test: ast.expr, value: Value, polarity: bool, decided: bool, arm: ast.expr, frame: Frame
) -> Value:
    mark = len(frame.conditions)
    conditions.push(m, test, value, polarity, decided, frame)
    saved = narrowing.narrow(m, test, polarity, frame)
    try:
        return evaluate(m, arm, frame)
    finally:
        narrowing.restore(m, frame, saved)
        del frame.conditions[mark:]


def _sequence(m: Machine, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    items: list[Value] = []
    rest: Value | None = None
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluate(m, element.value, frame)
            known, more = elements.of(m, inner)
            items.extend(known)
            rest = more if rest is None else rest if more is None else join(rest, more)
        else:
            items.append(evaluate(m, element, frame))
    return Sequence_(items, kind, rest, site=frame.place(node))


def _dict(m: Machine, node: ast.Dict, frame: Frame) -> Value:
    made = Mapping(frame.place(node))
    m.note_made(made)
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(m, value_node, frame)
        if key is None:
            for source in alternatives(value):
                if isinstance(source, Mapping):
                    source = outputs.refreshed(m, source, frame.place(node))
                    made.fields.update(source.fields)  # type: ignore[attr-defined]
                else:
                    made.fields[Mapping.REST] = (Unknown("key"), Unknown("** of an unknown mapping"))
            continue
        item_writes.set_item(m, made, evaluate(m, key, frame), value, None)
    return made


def _subscript(m: Machine, node: ast.Subscript, frame: Frame) -> Value:
    owner = evaluate(m, node.value, frame)
    index = evaluate(m, node.slice, frame)
    value = indexing.get_item(m, owner, index, node, frame)
    return narrowing.narrowed(m, node, value, frame)


def _slice(m: Machine, node: ast.Slice, frame: Frame) -> Value:
    bounds = [
        evaluate(m, part, frame) if part is not None else NONE for part in (node.lower, node.upper, node.step)
    ]
    return SliceValue(bounds[0], bounds[1], bounds[2])


def _lambda(m: Machine, node: ast.Lambda, frame: Frame) -> Value:
    return definitions.function_value(m, node, frame, "<lambda>")


def _walrus(m: Machine, node: ast.NamedExpr, frame: Frame) -> Value:
    value = evaluate(m, node.value, frame)
    assignments.assign(m, node.target, value, frame)
    return value


def _inner(m: Machine, node: ast.Starred | ast.Await, frame: Frame) -> Value:
    return evaluate(m, node.value, frame)


def _yield(m: Machine, node: ast.Yield, frame: Frame) -> Value:
    value = evaluate(m, node.value, frame) if node.value is not None else NONE
    frame.yielded.append(value)
    frame.at_yield = node
    return frame.on_yield(value) if frame.on_yield is not None else Unknown("sent value")


def _yield_from(m: Machine, node: ast.YieldFrom, frame: Frame) -> Value:
    def forward(value: Value) -> Value:
        frame.yielded.append(value)
        return frame.on_yield(value) if frame.on_yield is not None else Unknown("sent value")

    source = evaluate(m, node.value, frame)
    if isinstance(source, Obj) and source.cls == "generator" and generators.is_project(source):
        return generators.delegate(m, source, forward)
    for value in elements.all_elements(m, source):
        forward(value)
    return NONE


@cache
def _handlers() -> dict[type[ast.expr], Callable[[Machine, Any, Frame], Value]]:
    """What evaluates each type of expression; asked for when all modules are there."""
    return {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Call: calls.evaluate_call,
        ast.BinOp: arithmetic.evaluate_binary,
        ast.BoolOp: _boolean,
        ast.UnaryOp: arithmetic.evaluate_unary,
        ast.Compare: comparisons.evaluate_compare,
        ast.IfExp: _conditional,
        ast.List: _sequence,
        ast.Tuple: _sequence,
        ast.Set: _sequence,
        ast.Dict: _dict,
        ast.JoinedStr: texts.joined,
        ast.Subscript: _subscript,
        ast.Slice: _slice,
        ast.Lambda: _lambda,
        ast.ListComp: comprehensions.evaluate,
        ast.SetComp: comprehensions.evaluate,
        ast.GeneratorExp: comprehensions.evaluate,
        ast.DictComp: comprehensions.evaluate,
        ast.NamedExpr: _walrus,
        ast.Starred: _inner,
        ast.Await: _inner,
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
    }
