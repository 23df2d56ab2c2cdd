"""What a test says of the names in it: their other alternatives are ruled out in the arm behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import (
    answers,
    conditions,
    equality,
    graph_keys,
    kinds,
)
from graphlint.analysis.classes import last_name
from graphlint.analysis.frames import Frame, KeptTest
from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import (
    NONE,
    Env,
    Fields,
    Mapping,
    Obj,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


Narrowing = dict[str, tuple[Value | None, Value]]


def narrow(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> Narrowing:
    """Rebind names whose alternatives a test rules out; returns what to put back afterwards."""
    saved: Narrowing = {}
    if not m.captures and type(node) in _LOOKING_UP:
        _note_found(m, node, polarity, frame)
    for text, value in _implied(m, node, polarity, frame):
        old = saved[text][0] if text in saved else frame.env.fields.get(text)
        saved[text] = (old, value)
        frame.env.fields[text] = value
    return saved


_LOOKING_UP = frozenset({ast.Compare, ast.UnaryOp})


def _note_found(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> None:
    """What `key in graphs`, or `graphs.get(key)` that is not None, says: the entry is one of those there."""
    looked_up = _lookup(*answers.plain(node, polarity))
    table, key = [quiet(m, part, frame) for part in looked_up] if looked_up is not None else (None, None)
    if type(table) is Mapping and key is not None and table.fields:
        identity, held = identity_of(key), join_all(value for _, value in table.entries())
        if identity is not None and identity not in table.fields and graph_keys.held_graphs(held):
            m.heap.write(table.fields, identity, (key, held))


def _lookup(node: ast.expr, polarity: bool) -> tuple[ast.expr, ast.expr] | None:
    """The table and the key of a test that has found something under the key."""
    if type(node) is not ast.Compare or len(node.ops) != 1:
        return None
    operator, call = node.ops[0], node.left
    if isinstance(operator, (ast.In, ast.NotIn)):
        return (node.comparators[0], node.left) if isinstance(operator, ast.In) is polarity else None
    if not answers.asks_for_none(node) or answers.finds_none(node, polarity):
        return None
    if type(call) is ast.Call and type(call.func) is ast.Attribute and call.func.attr == "get":
        return (call.func.value, call.args[0]) if len(call.args) == 1 else None
    return None


def restore(m: Machine, frame: Frame, saved: Narrowing) -> None:
    """Put back narrowed names that the arm did not write itself; of others undoing the arm does so."""
    for text, (old, narrowed_to) in saved.items():
        if frame.env.fields.get(text) is not narrowed_to:
            m.heap.correct(frame.env.fields, text, narrowed_to, old)
            continue
        if old is None:
            del frame.env.fields[text]
        else:
            frame.env.fields[text] = old


def narrowed(m: Machine, node: ast.expr, value: Value, frame: Frame) -> Value:
    """The value of an attribute path as narrowed by an enclosing test."""
    if type(value) is not Union or not frame.in_doubt:
        return value
    found = frame.env.fields.get(path_text(node))
    return found if isinstance(found, Value) else value


def _implied(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> list[tuple[str, Value]]:
    found: list[tuple[str, Value]] = []
    for part, answer in answers.parts(node, polarity):
        found += _implied_by(m, part, answer, frame)
    return found


def _implied_by(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> list[tuple[str, Value]]:
    if answers.asks_for_none(node):
        if answers.finds_none(node, polarity):
            return _found_none(m, node.left, frame)
        return _kept(m, node.left, frame, lambda part: equality.identical(part, NONE) is False)
    if type(node) is ast.Call and isinstance(node.func, (ast.Name, ast.Attribute)) and node.args:
        return _isinstance_implied(m, node, polarity, frame)
    if type(node) is ast.Name and (test := kept_test(node.id, frame)) is not None:
        return _implied(m, test, polarity, frame)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _kept(m, node, frame, lambda part: conditions.truth(part) is not (not polarity))
    return []


def keep_test(name: str, node: ast.expr, answer: Value, frame: Frame) -> None:
    """Remember that a local name keeps the answer of a test: `is_table = isinstance(x, dict)`.

    Tests that asked about the name asked about what it was before: after `wide = wide and deep` none does.
    """
    names = _names_tested(node)
    if frame.tests:
        for other in [each for each, kept in frame.tests.items() if name in kept.names]:
            del frame.tests[other]
    if names and name not in names:
        frame.tests[name] = KeptTest(node, answer, {each: frame.env.fields.get(each) for each in names})


def kept_test(name: str, frame: Frame) -> ast.expr | None:
    """The test whose answer a name keeps, as long as neither it nor what it asked about was bound anew."""
    kept = frame.tests.get(name)
    if kept is None or frame.env.fields.get(name) is not kept.answer:
        return None
    same = all(frame.env.fields.get(each) is value for each, value in kept.names.items())
    return kept.node if same else None


@per_node
def _names_tested(node: ast.expr) -> frozenset[str]:
    """The names in a test that says something about one of them; none for other expressions."""
    node, _ = answers.plain(node, True)
    is_call = type(node) is ast.Call and type(node.func) is ast.Name and node.func.id == "isinstance"
    if not is_call and type(node) is not ast.BoolOp and not answers.asks_for_none(node):
        return frozenset()
    return frozenset(part.id for part in ast.walk(node) if type(part) is ast.Name) - {"isinstance"}


def _isinstance_implied(m: Machine, node: ast.Call, polarity: bool, frame: Frame) -> list[tuple[str, Value]]:
    name = last_name(node.func)
    if name == "is_tensor":
        return _kept(m, node.args[0], frame, lambda part: isinstance(part, Tensor) is polarity or _open(part))
    if name != "isinstance" or len(node.args) != 2:
        return []

    wanted = kinds.class_values(m, node.args[1], frame)
    keep = _kept(
        m,
        node.args[0],
        frame,
        lambda part: kinds.is_instance(part, wanted) is not (not polarity),
    )
    if polarity and not keep:
        made = kinds.instance_of_tested(m, node, wanted, frame)
        text = path_text(node.args[0])
        return [(text, made)] if made is not None and text else []
    return keep


def _open(part: Value) -> bool:
    return type(part) is Unknown


@per_node
def path_text(node: ast.expr) -> str:
    """The cell that narrows a name or an attribute path; empty for any other expression."""
    if type(node) is ast.Name:
        return node.id
    return "?" + ast.dump(node) if type(node) is ast.Attribute else ""


def _kept(m: Machine, node: ast.expr, frame: Frame, keep: Callable[[Value], bool]) -> list[tuple[str, Value]]:
    value = quiet(m, node, frame)
    if value is None and type(node) is ast.Attribute:
        name = node.attr
        return _kept(m, node.value, frame, lambda part: _may_hold(part, name, keep))
    if type(value) is not Union:
        return []
    text = path_text(node)
    left = [part for part in value.values if keep(part)]
    return [(text, join_all(left))] if left and len(left) < len(value.values) else []


def _may_hold(owner: Value, name: str, keep: Callable[[Value], bool]) -> bool:
    """Whether a field of one of several objects may be as a test has found that of one of them."""
    held = owner.fields.get(name) if type(owner) is Obj else None
    return not isinstance(held, Value) or any(map(keep, alternatives(held)))


def _found_none(m: Machine, node: ast.expr, frame: Frame) -> list[tuple[str, Value]]:
    """What is None is nothing else, also where nobody knows what else it might have been."""
    value = quiet(m, node, frame)
    if type(value) is Union or (value is not None and type(node) is ast.Attribute):
        return [(path_text(node), NONE)] if equality.identical(value, NONE) is None else []
    return _kept(m, node, frame, lambda part: equality.identical(part, NONE) is not False)


def quiet(m: Machine, node: ast.expr, frame: Frame) -> Value | None:
    """The value of an attribute path without events: names and plain fields only."""
    if type(node) is ast.Name:
        env: Env | None = frame.env
        while env is not None:
            if node.id in env.fields:
                return env.fields[node.id]  # type: ignore[no-any-return]
            env = env.parent
        return None
    if type(node) is ast.Attribute:
        owner = quiet(m, node.value, frame)
        if type(owner) is Unknown:
            return m.memo.get(("attribute", owner.serial, node.attr))
        return owner.fields.get(node.attr) if type(owner) is Obj else None
    return None


def fields_of(m: Machine, node: ast.expr, frame: Frame) -> Fields | None:
    """The fields of the object that an attribute path names, without events."""
    owner = quiet(m, node, frame)
    return owner.fields if type(owner) is Obj else None
