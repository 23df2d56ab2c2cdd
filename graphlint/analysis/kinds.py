"""What kind of value a value is, as `isinstance` and `type` see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    expressions,
    hints,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.parts import change_of, host_parts
from graphlint.analysis.values import (
    Class,
    Const,
    External,
    Function,
    Host,
    Mapping,
    Obj,
    Partial,
    Sequence_,
    Tensor,
    Unknown,
    Value,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def flat_classes(value: Value) -> tuple[Value, ...]:
    """The classes in a class, a tuple of them or a tuple of tuples."""
    return tuple(host_parts(value))


def class_values(m: Machine, node: ast.expr, frame: Frame) -> tuple[Value, ...]:
    """The classes that the second argument of `isinstance` names."""
    return flat_classes(expressions.evaluate(m, node, frame))


def is_instance(value: Value, wanted: tuple[Value, ...]) -> bool | None:
    """Whether a value is an instance of one of the classes; None when not known."""
    answers = [_is_instance(value, cls) for cls in wanted]
    if True in answers:
        return True
    return False if None not in answers else None


def _is_instance(value: Value, cls: Value) -> bool | None:
    name = cls.name.rpartition(".")[2] if type(cls) is External else ""
    if type(value) is Tensor:
        if name == "Parameter":
            return value.parameter or None
        return name in ("Tensor", "object") if type(cls) is External else False
    if type(value) is Unknown:
        return None
    if type(value) is Obj:
        return _object_is(value, cls, name)
    if type(value) is Host and value.kind == "any":
        return None if name not in ("Tensor", "Module") else False
    return name in _BUILTIN_NAMES.get(python_type(value), ()) if type(cls) is External else False


_BUILTIN_NAMES = {
    "bool": ("bool", "int", "Number", "Hashable"),
    "int": ("int", "Number", "Integral", "Real", "Hashable"),
    "float": ("float", "Number", "Real", "Hashable"),
    "str": ("str", "Hashable", "Sequence"),
    "NoneType": ("NoneType",),
    "list": ("list", "Sequence", "Iterable", "Collection", "MutableSequence"),
    "tuple": ("tuple", "Sequence", "Iterable", "Collection", "Hashable"),
    "set": ("set", "Set", "Iterable", "Collection"),
    "dict": ("dict", "Mapping", "MutableMapping", "Iterable", "Collection"),
    "function": ("Callable", "FunctionType", "MethodType"),
    "type": ("type",),
}


def python_type(value: Value) -> str:
    if type(value) is Const:
        return type(value.value).__name__
    if type(value) is Host:
        return value.kind
    if type(value) is Sequence_:
        return value.kind
    if type(value) is Mapping:
        return "dict"
    if isinstance(value, (Function, Partial, External)):
        return "function"
    return "type" if type(value) is Class else ""


def _object_is(value: Obj, cls: Value, name: str) -> bool | None:
    if isinstance(value.cls, str):
        if value.cls in ("torch.nn.Module",):
            return True if name == "Module" else None
        same = type(cls) is External and (
            cls.name == value.cls or cls.name.rpartition(".")[2] == value.cls.rpartition(".")[2]
        )
        if value.cls.startswith("torch.nn."):
            return same or name == "Module"
        return same if type(cls) is External else False
    if type(cls) is Class:
        if cls.info in value.cls.mro():
            return True
        given = value.label == "given" and value.cls in cls.info.mro()
        return None if given or value.cls.unknown_bases else False
    if type(cls) is External:
        return any(base == cls.name or base.rpartition(".")[2] == name for base in value.cls.externals()) or (
            None
            if value.cls.unknown_bases
            else name == "object" or (name == "Module" and value.cls.is_module)
        )
    return None


def instance_of_tested(m: Machine, node: ast.Call, wanted: tuple[Value, ...], frame: Frame) -> Value | None:
    """What an unknown value is inside `if isinstance(value, T)`."""
    current = expressions.evaluate(m, node.args[0], frame)
    if not isinstance(current, (Unknown, Host)) or len(wanted) != 1:
        return None
    made = hints.of_type(m, wanted[0], change_of(current), frame.place(node))
    return None if type(made) is Unknown else made
