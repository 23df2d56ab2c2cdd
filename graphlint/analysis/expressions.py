"""What expressions mean: each node type has one function that gives its abstract value."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    arrays,
    assignments,
    attributes,
    bounds,
    calls,
    conditions,
    correlations,
    functions,
    generators,
    graph_keys,
    indexing,
    lazies,
    loops,
    names,
    operators,
    orders,
    tensor_ops,
    texts,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import cells_of, change_of
from graphlint.analysis.values import (
    COMPUTED,
    FALSE,
    NONE,
    TRUE,
    Change,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    SliceValue,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join,
    join_all,
)
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LONGEST_TEXT = 10_000  # of a text put together from parts that are known


def evaluate(m: Machine, node: ast.expr, frame: Frame) -> Value:
    """The abstract value of an expression; every effect on the way is emitted as an event."""
    m.steps += 1  # as `spend` does: this is called for every expression
    if m.steps > m.limit:
        m.budget.look()
    handler = _HANDLERS.get(type(node))
    return handler(m, node, frame) if handler is not None else Unknown(type(node).__name__)


def _constant(m: Machine, node: ast.Constant, frame: Frame) -> Value:
    value = node.value
    if value is None:
        return NONE
    if value is True:
        return TRUE
    return FALSE if value is False else Const(value)


def _name(m: Machine, node: ast.Name, frame: Frame) -> Value:
    value: Value | None = None if m.has_graphs else frame.env.fields.get(node.id)
    return names.lookup(m, node.id, frame, node) if value is None else value


def _attribute(m: Machine, node: ast.Attribute, frame: Frame) -> Value:
    if node.attr in operations.listed("describing") and m.captures and not m.meta_read:
        m.meta_read = True
        try:
            owner = evaluate(m, node.value, frame)
        finally:
            m.meta_read = False
    else:
        owner = evaluate(m, node.value, frame)
    value = attributes.get(m, owner, node.attr, node, frame)
    return conditions.narrowed(m, node, value, frame)


def _call(m: Machine, node: ast.Call, frame: Frame) -> Value:
    return calls.evaluate_call(m, node, frame)


def _binary(m: Machine, node: ast.BinOp, frame: Frame) -> Value:
    left, right = evaluate(m, node.left, frame), evaluate(m, node.right, frame)
    return binary(m, node, node.op, left, right, frame)


def binary(
    m: Machine,
    node: ast.AST,
    op: ast.operator,
    left: Value,
    right: Value,
    frame: Frame,
    *,
    augmented: bool = False,
) -> Value:
    """`left op right`, tensor arithmetic included."""
    overloaded = operators.binary(m, op, left, right, augmented=augmented)
    if overloaded is not None:
        return overloaded
    if isinstance(op, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
        tensor_ops.formatted(m, node, right, frame, "%-format")
        return Host("str")
    if tensor_ops.any_tensor(left, right):
        return tensor_ops.arithmetic(m, node, left, right, frame)
    if isinstance(left, Sequence_) and isinstance(op, ast.Add):
        made = _concatenated(left, right)
        if orders.of(m, left) == orders.of(m, right):
            orders.note(m, made, orders.of(m, left))
        return made
    if isinstance(left, Sequence_) and isinstance(op, ast.Mult):
        return Sequence_(left.items, left.kind, left.rest or join_all(left.items) if left.items else None)
    if isinstance(left, Const) and isinstance(right, Const):
        return _folded(op, left, right)
    if isinstance(left, Union) or isinstance(right, Union):
        parts = [
            binary(m, node, op, a, b, frame) for a in alternatives(left)[:3] for b in alternatives(right)[:3]
        ]
        return join_all(parts)
    if any(isinstance(part, Unknown) and part.typed == "numpy" for part in (left, right)):
        arrays.read(m, (left, right), frame.place(node))
        return Unknown(COMPUTED, max(change_of(left), change_of(right)), "numpy")
    return derived(("binary", type(op).__name__), left, right)


def _concatenated(left: Sequence_, right: Value) -> Sequence_:
    if isinstance(right, Sequence_):
        rest = (
            right.rest
            if left.rest is None
            else left.rest
            if right.rest is None
            else join(left.rest, right.rest)
        )
        return Sequence_((*left.items, *right.items), left.kind, rest, max(left.change, right.change))
    return Sequence_(left.items, left.kind, Unknown("concatenation"), left.change)


def _folded(op: ast.operator, left: Const, right: Const) -> Value:
    cells = left.cells | right.cells
    if not _is_foldable(op, left.value, right.value):
        return Host("any", Change.CONSTANT, cells=cells)
    try:
        return Const(BINARY[type(op)](left.value, right.value), cells)
    except Exception:
        return Host("any", Change.CONSTANT, cells=cells)


def _is_foldable(op: ast.operator, left: object, right: object) -> bool:
    """Whether the result is worth its memory: powers, shifts and repetitions can make anything large."""
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return isinstance(op, ast.Add) and len(str(left)) + len(str(right)) <= LONGEST_TEXT
    if isinstance(op, (ast.Pow, ast.LShift)):
        return _is_number(left) and _is_small(right)
    return not isinstance(op, ast.Mult) or (_is_number(left) and _is_number(right))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e15


def _is_small(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= 64


def derived(operation: Any, *operands: Value, kind: str = "any") -> Value:
    """A host value computed from others: it changes when they do, and equals itself."""
    change = max(map(change_of, operands), default=Change.CONFIG)
    cells = frozenset().union(*map(cells_of, operands))
    if not cells and any(isinstance(v, Unknown) for v in operands):
        return Unknown(COMPUTED, change)
    identities = tuple(map(identity_of, operands))
    symbol = (operation, identities) if None not in identities else None
    return Host(kind, change, symbol, cells)


def _boolean(m: Machine, node: ast.BoolOp, frame: Frame) -> Value:
    """`and`/`or`: later operands are evaluated under what the earlier ones imply."""
    wanted = isinstance(node.op, ast.And)
    results: list[Value] = []
    mark = len(frame.conditions)
    undo: list[conditions.Narrowing] = []
    try:
        for index, operand in enumerate(node.values):
            value = evaluate(m, operand, frame)
            results.append(value)
            if index == len(node.values) - 1:
                if correlations.answer_of(m, value) is (not wanted):
                    return Const(not wanted)
                break
            truth = conditions.test(m, value, operand, frame, "and" if wanted else "or")
            if truth is not None and truth is not wanted:
                return value if index == 0 or len(results) == 1 else join_all(results)
            if truth is not None:
                results.pop()
            conditions.push(m, operand, value, wanted, truth is not None, frame)
            undo.append(conditions.narrow(m, operand, wanted, frame))
    finally:
        del frame.conditions[mark:]
        for saved in reversed(undo):
            conditions.restore(m, frame, saved)
    return _of_either(wanted, results)


def _of_either(both: bool, results: list[Value]) -> Value:
    """One of several numbers, chosen by what they are: the same numbers give the same one again."""
    first, last = results[0], results[-1]
    if len(results) == 2 and isinstance(first, Host) and isinstance(last, (Host, Const)):
        if first.kind in ("int", "float") and not is_none(last):
            return derived(("either", both), first, last, kind=first.kind)
    return join_all(results)


def _unary(m: Machine, node: ast.UnaryOp, frame: Frame) -> Value:
    value = evaluate(m, node.operand, frame)
    if isinstance(node.op, ast.Not):
        truth = conditions.test(m, value, node.operand, frame, "not")
        if isinstance(value, Unknown) and truth is None:  # whatever it is, this is a bool
            return Host("bool", value.change, ("not", identity_of(value)))
        return derived("not", value, kind="bool") if truth is None else Const(not truth, cells_of(value))
    if isinstance(value, Tensor):
        return tensor_ops.fresh_like(m, value, frame.place(node))
    overloaded = operators.unary(m, node.op, value)
    if overloaded is not None:
        return overloaded
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        number = value.value
        if isinstance(node.op, ast.USub):
            return Const(-number, value.cells)
        return Const(~number if isinstance(number, int) else number, value.cells)
    return derived(("unary", type(node.op).__name__), value)


def _compare(m: Machine, node: ast.Compare, frame: Frame) -> Value:
    left = evaluate(m, node.left, frame)
    results: list[Value] = []
    for index, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = evaluate(m, right_node, frame)
        result = compare(m, node, op, left, right, frame)
        if index < len(node.ops) - 1:
            conditions.test(m, result, node, frame, "chained comparison")
        results.append(result)
        left = right
    return results[0] if len(results) == 1 else join_all(results)


def compare(m: Machine, node: ast.AST, op: ast.cmpop, left: Value, right: Value, frame: Frame) -> Value:
    """One comparison: identity and membership on the host, the rest perhaps on tensors."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        answer = conditions.identical(left, right)
        if answer is None and is_none(right):
            answer = correlations.is_none_here(m, left)
        if answer is None:
            return derived("is", left, right, kind="bool")
        return Const(answer is isinstance(op, ast.Is), cells_of(left))
    overloaded = operators.compare(m, op, left, right)
    if overloaded is not None:
        return overloaded
    if isinstance(op, (ast.In, ast.NotIn)):
        return _membership(m, node, isinstance(op, ast.In), left, right, frame)
    if tensor_ops.any_tensor(left, right):
        return tensor_ops.arithmetic(m, node, left, right, frame, kind="bool")
    return _compare_hosts(op, left, right)


def _compare_hosts(op: ast.cmpop, left: Value, right: Value) -> Value:
    cells = cells_of(left) | cells_of(right)
    bounded = bounds.answer(op, left, right)
    if bounded is not None:
        return Const(bounded, cells)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        answer = conditions.equal(left, right)
        if answer is not None:
            return Const(answer is isinstance(op, ast.Eq), cells)
        return derived((type(op).__name__,), left, right, kind="bool")
    known = _plain(left), _plain(right)
    if None not in known:
        try:
            return Const(COMPARE[type(op)](*known), cells)
        except TypeError:
            return Unknown("comparison")
    return derived((type(op).__name__,), left, right, kind="bool")


def _plain(value: Value) -> Any:
    """The Python value of a constant or a tuple of constants; None when it is not known."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence_) and value.rest is None and value.items:
        parts = tuple(_plain(part) for part in value.items)
        return None if None in parts else parts
    return None


def _membership(m: Machine, node: ast.AST, wanted: bool, item: Value, where: Value, frame: Frame) -> Value:
    if isinstance(where, Tensor) or (isinstance(item, Tensor) and _compares_items(where)):
        tensor_ops.effect(m, node, "Tensor.__contains__", "scalar-read", (where, item), frame, how="in")
        return tensor_ops.read_back(m, tensor_ops.operands_of(where, item), "bool")
    found = conditions.contains(where, item)
    if found is False and isinstance(where, Mapping):
        lazies.note_absent(m, where.fields, identity_of(item))
    if found is None and m.captures and conditions.is_seen_size(where, item):
        found = True
    if found is None and not m.captures and graph_keys.has_entry_for(m, where, item):
        found = True
    if found is None:
        return derived("in", item, where, kind="bool")
    return Const(found is wanted, cells_of(item))


def _compares_items(where: Value) -> bool:
    """Whether looking for a tensor in a container asks for the truth of a comparison; None is never equal."""
    return isinstance(where, Sequence_) and any(not is_none(item) for item in where.items)


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
    saved = conditions.narrow(m, test, polarity, frame)
    try:
        return evaluate(m, arm, frame)
    finally:
        conditions.restore(m, frame, saved)
        del frame.conditions[mark:]


def _sequence(m: Machine, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    items: list[Value] = []
    rest: Value | None = None
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluate(m, element.value, frame)
            known, more = loops.elements_of(m, inner)
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
                    source = m.refresh(source, frame.place(node))
                    made.fields.update(source.fields)  # type: ignore[attr-defined]
                else:
                    made.fields[Mapping.REST] = (Unknown("key"), Unknown("** of an unknown mapping"))
            continue
        indexing.set_item(m, made, evaluate(m, key, frame), value, None)
    return made


def _subscript(m: Machine, node: ast.Subscript, frame: Frame) -> Value:
    owner = evaluate(m, node.value, frame)
    index = evaluate(m, node.slice, frame)
    value = indexing.get_item(m, owner, index, node, frame)
    return conditions.narrowed(m, node, value, frame)


def _slice(m: Machine, node: ast.Slice, frame: Frame) -> Value:
    bounds = [
        evaluate(m, part, frame) if part is not None else NONE for part in (node.lower, node.upper, node.step)
    ]
    return SliceValue(bounds[0], bounds[1], bounds[2])


def _lambda(m: Machine, node: ast.Lambda, frame: Frame) -> Value:
    return functions.function_value(m, node, frame, "<lambda>")


def _comprehension(
    m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
) -> Value:
    return loops.comprehension(m, node, frame)


def _walrus(m: Machine, node: ast.NamedExpr, frame: Frame) -> Value:
    value = evaluate(m, node.value, frame)
    assignments.assign(m, node.target, value, frame)
    return value


def _starred(m: Machine, node: ast.Starred, frame: Frame) -> Value:
    return evaluate(m, node.value, frame)


def _await(m: Machine, node: ast.Await, frame: Frame) -> Value:
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
    for value in loops.all_elements(m, source):
        forward(value)
    return NONE


_HANDLERS: dict[type[ast.expr], Callable[[Machine, Any, Frame], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.JoinedStr: texts.joined,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.NamedExpr: _walrus,
    ast.Starred: _starred,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
}
