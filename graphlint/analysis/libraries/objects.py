"""Builtins that look at objects and make classes: attributes by name, types, descriptors."""

from __future__ import annotations

from graphlint.analysis import (
    attributes,
    class_members,
    definitions,
    elements,
    kinds,
    lazies,
    storing,
)
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries import nn
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    External,
    Function,
    Host,
    Mapping,
    Module,
    Obj,
    Partial,
    Tensor,
    Unknown,
    Value,
    alternatives,
    join,
    join_all,
)
from graphlint.facts import nodes as ast


@model("builtins.getattr")
def _getattr(call: Call) -> Value:
    owner, name = call.get(0, "o"), call.text(1, "name")
    several = _one_of_several(call, owner) if owner is not None and not name else None
    if several is not None:
        return several
    if owner is None or not name:
        return Unknown(
            "getattr with a computed name", change_of(owner) if owner is not None else Change.CONFIG
        )
    default = call.get(2, "default")
    if default is None:
        return attributes.get(call.m, owner, name, call.node, call.frame)
    return join_all(_attribute_or(call, part, name, default) for part in alternatives(owner))


def _one_of_several(call: Call, owner: Value) -> Value | None:
    """`getattr(owner, name)` where both come out of a table: each name of whoever has it."""
    written = alternatives(call.get(1, "name") or Unknown("name"))
    texts = [str(each.value) for each in written if isinstance(each, Const) and isinstance(each.value, str)]
    if len(texts) < max(2, len(written)) or call.get(2, "default") is not None:
        return None
    found = [
        attributes.get(call.m, part, text, call.node, call.frame)
        for part in alternatives(owner)
        for text in texts
        if not isinstance(part, Module) or text in part.file.bindings
    ]
    return join_all(found) if found else None


def _attribute_or(call: Call, owner: Value, name: str, default: Value) -> Value:
    """`getattr(owner, name, default)`: the default where the attribute is certainly or perhaps missing."""
    value = attributes.get(call.m, owner, name, call.node, call.frame)
    if isinstance(owner, Obj) and name not in owner.fields:
        if _is_lacking(call, owner, name, value):
            lazies.note_absent(call.m, owner.fields, name)
            return default
    if isinstance(value, Unknown):
        return join(value, default) if isinstance(owner, (Unknown, Obj)) else default
    if isinstance(value, External) and isinstance(owner, Obj):
        return join(value, default)
    return value


def _is_lacking(call: Call, owner: Value, name: str, value: Value) -> bool:
    """Whether an attribute that was looked up certainly does not exist."""
    return (
        isinstance(value, Unknown)
        and isinstance(owner, Obj)
        and isinstance(owner.cls, ClassInfo)
        and not owner.cls.unknown_bases
        and owner.cls.find("__getattr__") is None
        and owner.cls.find(name) is None
        and class_members.class_attribute(call.m, owner.cls, name) is None
    )


@model("builtins.hasattr")
def _hasattr(call: Call) -> Value:
    owner, name = call.get(0, "obj"), call.text(1, "name")
    if isinstance(owner, Obj) and name and isinstance(owner.cls, ClassInfo):
        if name in owner.fields or owner.cls.find(name) is not None:
            return Const(True)
        value = attributes.get(call.m, owner, name, call.node, call.frame)
        if _is_lacking(call, owner, name, value):
            lazies.note_absent(call.m, owner.fields, name)
            return Const(False)
    if isinstance(owner, (Function, Tensor)):
        return Host("bool")
    return Host("bool", Change.CONFIG, ("hasattr", identity_of(owner), name) if owner is not None else None)


@model("builtins.setattr")
def _setattr(call: Call) -> Value:
    owner, name, value = call.get(0, "obj"), call.text(1, "name"), call.get(2, "value")
    if owner is not None and not name:
        name = nn.named_by(owner, call.get(1, "name"))
    if owner is not None and name and value is not None:
        storing.put(call.m, owner, name, value, call.node, call.frame)
    return NONE


@model("builtins.isinstance", "builtins.issubclass")
def _isinstance(call: Call) -> Value:
    value, wanted = call.get(0, "obj"), call.get(1, "classinfo")
    if value is None or wanted is None or call.name.endswith("issubclass"):
        return Host("bool")
    return _whether_instance(value, kinds.flat_classes(wanted))


@model("torch.is_tensor")
def _is_tensor(call: Call) -> Value:
    value = call.get(0, "obj")
    return _whether_instance(value or Unknown(), (External("torch.Tensor"),))


def _whether_instance(value: Value, wanted: tuple[Value, ...]) -> Value:
    answers = {kinds.is_instance(part, wanted) for part in alternatives(value)}
    answer = answers.pop() if len(answers) == 1 else None
    return Const(answer) if answer is not None else Host("bool")


@model("builtins.type")
def _type(call: Call) -> Value:
    value = call.get(0, "object")
    if len(call.args) == 3:
        return _made_class(call)
    if isinstance(value, Obj) and isinstance(value.cls, ClassInfo):
        return Class(value.cls)
    return (
        External(f"builtins.{kinds.python_type(value)}")
        if value is not None and kinds.python_type(value)
        else Unknown("type")
    )


def _made_class(call: Call) -> Value:
    """`type(name, bases, members)`: a class without a text of its own."""
    name = call.text(0, "name", "type")
    node = ast.ClassDef(name=name, bases=[], keywords=[], body=[], decorator_list=[])
    info = ClassInfo(ast.copy_location(node, call.node), call.frame.module, None, name)
    for base in elements.of(call.m, call.args[1])[0]:
        definitions.add_base(info, base)
    if isinstance(call.args[2], Mapping):
        info.values.update({str(k.value): v for k, v in call.args[2].entries() if isinstance(k, Const)})
    return Class(info)


@model("builtins.callable")
def _callable(call: Call) -> Value:
    value = call.get(0, "obj")
    if isinstance(value, (Function, Class, External, Partial)):
        return Const(True)
    return Const(False) if isinstance(value, (Const, Tensor)) else Host("bool")


@model("builtins.id")
def _id(call: Call) -> Value:
    value = call.get(0, "obj")
    identity = identity_of(value) if value is not None else None
    return Host("int", Change.CONFIG, ("id", identity)) if identity is not None else Host("int")


@model("builtins.super")
def _super(call: Call) -> Value:
    return Obj("super", call.place)


@model("builtins.object.__setattr__")
def _object_setattr(call: Call) -> Value:
    return _setattr(call)


@model("builtins.staticmethod")
def _static(call: Call) -> Value:
    return Partial(call.args[0], (), {}) if call.args else Unknown(call.name)


@model("builtins.classmethod")
def _classmethod(call: Call) -> Value:
    return call.args[0] if call.args else Unknown(call.name)


@model("builtins.property", "functools.cached_property")
def _property(call: Call) -> Value:
    made = Obj("builtins.property", call.place)
    made.fields["getter"] = call.get(0, "fget") or Unknown("property")
    return made


@model("Tensor.untyped_storage", "Tensor.storage")
def _storage(call: Call) -> Value:
    """The memory of a tensor as an object, whose methods may hand it to other processes."""
    made = Obj("torch.UntypedStorage", call.place)
    made.fields["of"] = call.owner if isinstance(call.owner, Tensor) else Unknown("tensor")
    return made
