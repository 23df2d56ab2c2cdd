"""Conditions: truth of abstract values, and the tests on the way to where the machine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    answers,
    correlations,
    host_work,
    narrowing,
    operators,
    settled,
    tensor_ops,
)
from graphlint.analysis.frames import Condition, Frame
from graphlint.analysis.values import (
    Class,
    Const,
    Env,
    External,
    Fields,
    Function,
    Mapping,
    Module,
    Obj,
    Partial,
    Sequence_,
    Tensor,
    Union,
    Value,
    alternatives,
    is_none,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


SURE_TRUE = (Function, Class, External, Module, Partial)


def truth(value: Value) -> bool | None:
    """Whether `value` counts as true; None when that is not known."""
    if type(value) is Const:
        return bool(value.value)
    if isinstance(value, SURE_TRUE):
        return True
    if type(value) is Obj:
        return None if _has_own_truth(value) else True
    if type(value) is Sequence_:
        return True if value.items else (False if value.rest is None else None)
    if type(value) is Mapping:
        return _mapping_truth(value)
    if type(value) is Union:
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
    if own is not None and type(value) is not Union:
        value = own
    for part in alternatives(value):
        if type(part) is Tensor and _is_length(part):
            continue
        if type(part) is Tensor and part.on_device and part.storage.owner != "opaque":
            tensor_ops.effect(m, node, "Tensor.__bool__", "scalar-read", (part,), frame, how=how)
        elif type(part) is Tensor:
            host_work.read_in_capture(m, [part])
    answer = truth(value)
    if answer is None:
        answer = correlations.assumed(m, value)
    if m.captures and (answer is None or type(node) is ast.Compare) and not answers.asks_for_none(node):
        bounds = how == "while" and type(node) is ast.Compare
        tensor_ops.host_use(m, node, value, "loop" if bounds else "branch", frame)
    elif m.captures and type(value) is Const and isinstance(value.value, bool):
        tensor_ops.host_use(m, node, value, "flag", frame)
    return answer


def _is_length(tensor: Tensor) -> bool:
    """Whether the truth of this array is how many elements it has, as the class of its library says."""
    return bool(tensor.library) and operations.libraries()[tensor.library].truth == "length"


def push(m: Machine, node: ast.expr, value: Value, polarity: bool, decided: bool, frame: Frame) -> None:
    frame.conditions.append(settled.condition(m, node, value, polarity, decided, frame))
    frame.conditions.extend(correlations.implied(node, polarity, frame))


def finds_empty(m: Machine, fields: Fields, key: object) -> bool:
    """Whether an undecided test on the way here found a field None: `if self.x is None: self.x = ...`."""
    if not isinstance(key, str):
        return False
    for frame in reversed(m.frames):
        if not frame.conditions or not frame.in_doubt:
            continue
        tests = [c.place.node for c in frame.conditions if not c.decided]
        asked = [*tests, *(kept.node for kept in frame.tests.values())]
        if not any(key in attributes_in(test) for test in asked):
            continue
        for name, owner in _names(frame.env):
            if type(owner) is Obj and owner.fields is fields and isinstance(name, str):
                path = ast.Attribute(ast.Name(name, ast.Load()), key, ast.Load())
                found = frame.env.fields.get(narrowing.path_text(path))
                if found is not None and is_none(found):
                    return True
    return False


def _names(env: Env) -> list[tuple[object, object]]:
    """What a function's names mean, those that it closes over last."""
    return [item for scope in (env, *env.parents()) for item in scope.fields.items()]


@summary
def attributes_in(node: ast.AST) -> frozenset[str]:
    """The names of the attributes that a test, or any other text, mentions."""
    return frozenset(part.attr for part in walk(node) if isinstance(part, ast.Attribute))


def fills_tested_item(m: Machine, node: ast.AST) -> bool:
    """Whether a statement fills the item that a test found empty: `if x[i] is None: x[i] = ...`."""
    if not isinstance(node, ast.Assign):
        return False
    filled = {ast.unparse(target) for target in node.targets if isinstance(target, ast.Subscript)}
    if not filled:
        return False
    open_tests = [c.place.node for c in m.frame.conditions if not c.decided and c.polarity]
    return any(
        answers.asks_for_none(test) and answers.finds_none(test, True) and ast.unparse(test.left) in filled
        for test in open_tests
    )


def undecided(m: Machine) -> tuple[Condition, ...]:
    """The undecided tests on the way here, outermost first."""
    if not m.heap.journals:
        return ()
    return tuple([c for frame in m.frames if frame.conditions for c in frame.conditions if not c.decided])
