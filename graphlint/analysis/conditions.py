"""Conditions: truth of abstract values, what a test implies, and how sure that makes a finding."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from graphlint.analysis import correlations, graph_keys, host_work, kinds, operators, tensor_ops
from graphlint.analysis.certainty import Certainty
from graphlint.analysis.classes import EnumMember
from graphlint.analysis.frames import Condition, Frame, KeptTest
from graphlint.analysis.identities import identity_of
from graphlint.analysis.parts import change_of
from graphlint.analysis.symbols import symbols_in
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    External,
    Fields,
    Function,
    Host,
    Mapping,
    Module,
    Obj,
    Partial,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join_all,
)
from graphlint.facts.pernode import per_node, summary
from graphlint.finding import Confidence, Level
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

Narrowing = dict[str, tuple[Value | None, Value]]

SURE_TRUE = (Function, Class, External, Module, Partial)

# Tests that choose a mode of the program: what is captured is one mode, most often not this one.
MODE = re.compile(
    r"debug|verbose|log|trace|profil|dump|check|valid|sanity|assert|prefill|extend|is_train|training|"
    r"forward_mode|encoder|is_dummy|statistic|metric|record|eager|fallback|\bcpu\b|is_hip|is_npu|is_xpu",
    re.IGNORECASE,
)


def truth(value: Value) -> bool | None:
    """Whether `value` counts as true; None when that is not known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, SURE_TRUE):
        return True
    if isinstance(value, Obj):
        return None if _has_own_truth(value) else True
    if isinstance(value, Sequence_):
        return True if value.items else (False if value.rest is None else None)
    if isinstance(value, Mapping):
        return _mapping_truth(value)
    if isinstance(value, Union):
        answers = {truth(part) for part in value.values}
        return answers.pop() if len(answers) == 1 else None
    return None


def _mapping_truth(value: Mapping) -> bool | None:
    if not value.fields:
        return False
    return True if any(key != Mapping.REST for key in value.fields) else None


def _has_own_truth(value: Obj) -> bool:
    if isinstance(value.cls, str):
        return value.cls in ("unknown", "torch.Size")
    return value.cls.find("__bool__") is not None or value.cls.find("__len__") is not None


def test(m: Machine, value: Value, node: ast.AST, frame: Frame, how: str) -> bool | None:
    """The truth of a value that decides control flow; a device tensor there is an event."""
    own = operators.truth(m, value)
    if own is not None and not isinstance(value, Union):
        value = own
    for part in alternatives(value):
        if isinstance(part, Tensor) and _is_length(part):
            continue
        if isinstance(part, Tensor) and part.on_device and part.storage.owner != "opaque":
            tensor_ops.effect(m, node, "Tensor.__bool__", "scalar-read", (part,), frame, how=how)
        elif isinstance(part, Tensor):
            host_work.read_in_capture(m, [part])
    answer = truth(value)
    if answer is None:
        answer = correlations.assumed(m, value)
    if m.captures and (answer is None or isinstance(node, ast.Compare)) and not _asks_for_none(node):
        bounds = how == "while" and isinstance(node, ast.Compare)
        tensor_ops.host_use(m, node, value, "loop" if bounds else "branch", frame)
    elif m.captures and isinstance(value, Const) and isinstance(value.value, bool):
        tensor_ops.host_use(m, node, value, "flag", frame)
    return answer


def _is_length(tensor: Tensor) -> bool:
    """Whether the truth of this array is how many elements it has, as the class of its library says."""
    return bool(tensor.library) and operations.libraries()[tensor.library].truth == "length"


def _asks_for_none(node: ast.AST) -> bool:
    """`x is None`: a number that changes from call to call is there in every call."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return False
    return isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None


def identical(left: Value, right: Value) -> bool | None:
    """`left is right` for None, booleans, enum members, classes and objects."""
    answers = {_identical(a, b) for a in alternatives(left) for b in alternatives(right)}
    return answers.pop() if len(answers) == 1 else None


def _identical(left: Value, right: Value) -> bool | None:
    if isinstance(left, (Unknown, Host)) or isinstance(right, (Unknown, Host)):
        known, other = (left, right) if isinstance(right, (Unknown, Host)) else (right, left)
        if isinstance(other, Host) and is_none(known):
            return False if other.kind in ("int", "float", "str", "bool") else None
        return None
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value is right.value or (
            type(left.value) is type(right.value) and left.value == right.value
        )
    if isinstance(left, Const) != isinstance(right, Const):
        return False
    ids = identity_of(left), identity_of(right)
    return ids[0] == ids[1] if None not in ids else None


def equal(left: Value, right: Value) -> bool | None:
    """`left == right` where both are known well enough."""
    answers: set[bool | None] = set()
    for a in alternatives(left):
        for b in alternatives(right):
            if isinstance(a, Const) and isinstance(b, Const):
                answers.add(_equal_constants(a.value, b.value))
            else:
                ids = identity_of(a), identity_of(b)
                answers.add(True if ids[0] is not None and ids[0] == ids[1] else _certainly_unequal(a, b))
    return answers.pop() if len(answers) == 1 else None


def _equal_constants(left: object, right: object) -> bool | None:
    if isinstance(left, EnumMember) is not isinstance(right, EnumMember):
        member = left if isinstance(left, EnumMember) else right
        assert isinstance(member, EnumMember)
        return None if member.info.is_number_enum else False
    return bool(left == right)


def _certainly_unequal(left: Value, right: Value) -> bool | None:
    """False (not equal) for a constant against an object or container, None against anything known."""
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, Const) or isinstance(other, (Unknown, Const)):
            continue
        if one.value is None or isinstance(other, (Class, Function, Sequence_, Mapping)):
            return False
        if isinstance(other, Obj) and not isinstance(other.cls, str) and other.cls.find("__eq__") is None:
            return False
    return None


def contains(where: Value, item: Value) -> bool | None:
    """`item in where` for containers whose content is known."""
    identity = identity_of(item)
    if isinstance(where, Mapping):
        return _mapping_contains(where, item, identity)
    if isinstance(where, Sequence_):
        answers = [equal(item, element) for element in where.items]
        if True in answers:
            return True
        return False if where.rest is None and None not in answers else None
    if isinstance(where, Const) and isinstance(item, Const) and isinstance(where.value, str):
        return str(item.value) in where.value
    return None


def _mapping_contains(where: Mapping, item: Value, identity: object) -> bool | None:
    if not where.fields:
        return False
    if identity is not None and identity in where.fields:
        return True
    if Mapping.REST in where.fields or identity is None:
        return None
    if isinstance(item, (Const, Obj)) and all(key[0] in ("const", "object") for key in where.fields):
        return False
    return False if _streams_differ(identity, where) else None


def is_seen_size(where: Value, item: Value) -> bool:
    """Whether a size is looked for among sizes of the same kind: warm-up has had those that are captured."""
    kind = _size_kind(identity_of(item))
    return (
        kind is not None and isinstance(where, Mapping) and any(_size_kind(k) == kind for k in where.fields)
    )


def _size_kind(identity: object) -> object:
    """Which dimension of some tensor an identity speaks of; tuples of such by their parts."""
    match identity:
        case ("host", ("size", _, dimension)):
            return ("size", dimension)
        case ("tuple", tuple(parts)):
            kinds = [_size_kind(part) or part for part in parts]
            return tuple(kinds) if any(_size_kind(part) for part in parts) else None
    return None


def _streams_differ(identity: object, where: Mapping) -> bool:
    """Whether keys differ only because each names another stream."""
    return _names_stream(identity) and all(map(_names_stream, where.fields))


def _names_stream(identity: object) -> bool:
    return any(isinstance(part, str) and "stream" in part for part in symbols_in(identity))


def push(m: Machine, node: ast.expr, value: Value, polarity: bool, decided: bool, frame: Frame) -> None:
    frame.conditions.append(Condition(frame.place(node), value, polarity, decided))
    more = correlations.implied(node, polarity, frame)
    if more is not None:
        frame.conditions.append(more)


def narrow(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> Narrowing:
    """Rebind names whose alternatives a test rules out; returns what to put back afterwards."""
    saved: Narrowing = {}
    if not m.captures:
        _note_found(m, node, polarity, frame)
    for text, value in _implied(m, node, polarity, frame):
        old = saved[text][0] if text in saved else frame.env.fields.get(text)
        saved[text] = (old, value)
        frame.env.fields[text] = value
    return saved


def _note_found(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> None:
    """What `key in graphs`, or `graphs.get(key)` that is not None, says: the entry is one of those there."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _note_found(m, node.operand, not polarity, frame)
        return
    looked_up = _lookup(node, polarity)
    table, key = [quiet(m, part, frame) for part in looked_up] if looked_up is not None else (None, None)
    if isinstance(table, Mapping) and key is not None and table.fields:
        identity, held = identity_of(key), join_all(value for _, value in table.entries())
        if identity is not None and identity not in table.fields and graph_keys.held_graphs(held):
            m.heap.write(table.fields, identity, (key, held))


def _lookup(node: ast.expr, polarity: bool) -> tuple[ast.expr, ast.expr] | None:
    """The table and the key of a test that has found something under the key."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    operator, call = node.ops[0], node.left
    if isinstance(operator, (ast.In, ast.NotIn)):
        return (node.comparators[0], node.left) if isinstance(operator, ast.In) is polarity else None
    if not _asks_for_none(node) or isinstance(operator, ast.Is) is polarity:
        return None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "get":
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


def finds_empty(m: Machine, fields: Fields, key: object) -> bool:
    """Whether an undecided test on the way here found a field None: `if self.x is None: self.x = ...`."""
    for frame in reversed(m.frames):
        tests = [c.place.node for c in frame.conditions if not c.decided]
        asked = tests and [*tests, *(kept.node for kept in frame.tests.values())]
        if not any(key in _attributes(test) for test in asked):
            continue
        for name, owner in list(frame.env.fields.items()):
            if type(owner) is Obj and owner.fields is fields and isinstance(name, str):
                path = ast.Attribute(ast.Name(name, ast.Load()), str(key), ast.Load())
                found = frame.env.fields.get(_path_text(path))
                if found is not None and is_none(found):
                    return True
    return False


@summary
def _attributes(test: ast.AST) -> frozenset[object]:
    """The names of the attributes that a test mentions."""
    return frozenset(part.attr for part in ast.walk(test) if isinstance(part, ast.Attribute))


def fills_tested_item(m: Machine, node: ast.AST) -> bool:
    """Whether a statement fills the item that a test found empty: `if x[i] is None: x[i] = ...`."""
    if not isinstance(node, ast.Assign):
        return False
    filled = {ast.unparse(target) for target in node.targets if isinstance(target, ast.Subscript)}
    open_tests = [c for c in m.frame.conditions if not c.decided and c.polarity]
    return any(
        isinstance(test := c.place.node, ast.Compare)
        and isinstance(test.ops[0], ast.Is)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
        and ast.unparse(test.left) in filled
        for c in open_tests
    )


def narrowed(m: Machine, node: ast.expr, value: Value, frame: Frame) -> Value:
    """The value of an attribute path as narrowed by an enclosing test."""
    if not isinstance(value, Union) or not any(c.decided is False for c in frame.conditions):
        return value
    found = frame.env.fields.get(_path_text(node))
    return found if isinstance(found, Value) else value


def _implied(m: Machine, node: ast.expr, polarity: bool, frame: Frame) -> list[tuple[str, Value]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _implied(m, node.operand, not polarity, frame)
    if isinstance(node, ast.BoolOp):
        if isinstance(node.op, ast.And) is polarity:
            return [pair for part in node.values for pair in _implied(m, part, polarity, frame)]
        return []
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        if isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
            is_none = isinstance(node.ops[0], ast.Is) is polarity
            return _kept(m, node.left, frame, lambda part: (identical(part, NONE) is not False) is is_none)
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and node.args:
        return _isinstance_implied(m, node, polarity, frame)
    if isinstance(node, ast.Name) and (test := _kept_test(node.id, frame)) is not None:
        return _implied(m, test, polarity, frame)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _kept(m, node, frame, lambda part: truth(part) is not (not polarity))
    return []


def keep_test(name: str, node: ast.expr, answer: Value, frame: Frame) -> None:
    """Remember that a local name keeps the answer of a test: `is_table = isinstance(x, dict)`."""
    names = _names_tested(node)
    if names:
        frame.tests[name] = KeptTest(node, answer, {each: frame.env.fields.get(each) for each in names})


def _kept_test(name: str, frame: Frame) -> ast.expr | None:
    """The test whose answer a name keeps, as long as neither it nor what it asked about was bound anew."""
    kept = frame.tests.get(name)
    if kept is None or frame.env.fields.get(name) is not kept.answer:
        return None
    same = all(frame.env.fields.get(each) is value for each, value in kept.names.items())
    return kept.node if same else None


@per_node
def _names_tested(node: ast.expr) -> frozenset[str]:
    """The names in a test that says something about one of them; none for other expressions."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    if not is_call and not _asks_for_none(node):
        return frozenset()
    return frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name)) - {"isinstance"}


def _isinstance_implied(m: Machine, node: ast.Call, polarity: bool, frame: Frame) -> list[tuple[str, Value]]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
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
        text = _path_text(node.args[0])
        return [(text, made)] if made is not None and text else []
    return keep


def _open(part: Value) -> bool:
    return isinstance(part, Unknown)


@per_node
def _path_text(node: ast.expr) -> str:
    """The cell that narrows a name or an attribute path; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    return "?" + ast.dump(node) if isinstance(node, ast.Attribute) else ""


@summary
def _reads_training(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "training"


@summary
def _chooses_mode(node: ast.AST) -> bool:
    """Whether a test is of a mode of the program, by its text; a place that is no expression counts."""
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    return text == "" or MODE.search(text) is not None


def _kept(m: Machine, node: ast.expr, frame: Frame, keep: object) -> list[tuple[str, Value]]:
    value = quiet(m, node, frame)
    if not isinstance(value, Union) or not callable(keep):
        return []
    text = _path_text(node)
    left = [part for part in value.values if keep(part)]
    return [(text, join_all(left))] if left and len(left) < len(value.values) else []


def quiet(m: Machine, node: ast.expr, frame: Frame) -> Value | None:
    """The value of an attribute path without events: names and plain fields only."""
    if isinstance(node, ast.Name):
        scopes = (frame.env, *frame.env.parents())
        return next((env.fields[node.id] for env in scopes if node.id in env.fields), None)
    if isinstance(node, ast.Attribute):
        owner = quiet(m, node.value, frame)
        return owner.fields.get(node.attr) if isinstance(owner, Obj) else None
    return None


def undecided(m: Machine) -> tuple[Condition, ...]:
    """The undecided tests on the way here, outermost first."""
    if not m.heap.journals:
        return ()
    return tuple(c for frame in m.frames for c in frame.conditions if not c.decided)


def fields_of(m: Machine, node: ast.expr, frame: Frame) -> Fields | None:
    """The fields of the object that an attribute path names, without events."""
    owner = quiet(m, node, frame)
    return owner.fields if isinstance(owner, Obj) else None


def _is_configuration(value: Value) -> bool:
    """Whether a test is of host values that were set once: which of them is captured does not matter."""
    return all(isinstance(part, (Host, Const)) for part in alternatives(value))


_CONFIDENCES = tuple(Confidence)


def _weaker(one: Confidence, other: Confidence) -> Confidence:
    return max(one, other, key=_CONFIDENCES.index)


def _doubt(m: Machine, condition: Condition) -> Certainty:
    """What one undecided test leaves of certainty.

    Modules are made in training mode, and a program that runs a backward pass has left them there.
    """
    if condition.polarity and m.trains and _reads_training(condition.place.node):
        return Certainty(Level.ERROR, Confidence.LIKELY)
    if _chooses_mode(condition.place.node):
        return Certainty(Level.ERROR, Confidence.POSSIBLE)
    if change_of(condition.value) is not Change.CONFIG:
        return Certainty(Level.WARNING, Confidence.LIKELY)
    if not _is_configuration(condition.value):
        return Certainty(Level.ERROR, Confidence.LIKELY)
    return Certainty()


def certainty(m: Machine) -> Certainty:
    """How sure a finding may be: undecided tests since the capture began lower it."""
    capture = m.capture
    first = capture.depth if capture is not None else max(0, len(m.frames) - 1)
    level, confidence = Level.ERROR, Confidence.LIKELY if m.cuts else Confidence.DEFINITE
    for index, frame in enumerate(m.frames[first:]):
        start = capture.facts.get("conditions", 0) if capture is not None and index == 0 else 0
        for condition in frame.conditions[start:]:
            if condition.decided:
                continue
            if condition.doubt is None:
                condition.doubt = _doubt(m, condition)
            if condition.doubt.level is Level.WARNING:
                level = Level.WARNING
            if condition.doubt.confidence is not confidence:
                confidence = _weaker(confidence, condition.doubt.confidence)
    return Certainty(level, confidence)
