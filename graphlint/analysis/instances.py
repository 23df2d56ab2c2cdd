"""Instances of project classes: constructors, fields of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import calls, definitions, expressions, functions, hints
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo, last_name
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries import module_containers, nn
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.values import (
    Change,
    External,
    Mapping,
    Obj,
    Sequence_,
    Unknown,
    Value,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def construct(m: Machine, info: ClassInfo, arguments: Arguments, place: Place) -> Value:
    """Call a project class: a new object, its constructor run."""
    if info.is_enum:
        return Unknown("enum member by value")
    made = Obj(info, place)
    m.note_made(made)
    found = info.find("__init__")
    if found is None:
        record_fields(m, made, info, arguments, place)
        if any(dotted in operations.listed("mapping_classes") for dotted in info.externals()):
            m.heap.write(made.fields, "elements", Mapping(place))
        kind = module_containers.kind_of(made)
        if kind is not None:
            module_containers.fill(Call(m, kind, None, arguments, place, m.frame), made, kind)
        if not info.is_record:
            m.heap.write(made.fields, "?args", Sequence_(arguments.args, "tuple", arguments.more))
            _construct_library_base(m, made, info, arguments, place)
        return made
    owner, node = found
    function = definitions.method_value(m, owner, node, made)
    calls.call(m, function, arguments, place.node, m.frame, place)
    return made


def _construct_library_base(
    m: Machine, made: Obj, info: ClassInfo, arguments: Arguments, place: Place
) -> None:
    """A class without a constructor of its own takes that of its library base."""
    for dotted in info.externals():
        if dotted in nn.CUDA_BASES:
            calls.call(m, External(f"{dotted}.__init__", made), arguments, place.node, m.frame, place)


def record_fields(m: Machine, made: Obj, info: ClassInfo, arguments: Arguments, place: Place) -> None:
    if not info.is_record:
        return
    frame = definitions.class_frame(m, info)
    for index, (name, (owner, annotation, default)) in enumerate(info.record_fields().items()):
        value = arguments.get(index, name)
        if value is None and default is not None:
            value = _field_default(m, default, definitions.class_frame(m, owner))
        if value is None or (isinstance(value, Unknown) and not value.typed):
            change = value.change if isinstance(value, Unknown) else Change.CONFIG
            value = hints.value_of(m, annotation, owner.module, change, place)
        m.heap.write(made.fields, name, value)
    if info.find("__post_init__") is not None:
        m.frames.append(frame)
        try:
            functions.call_method(m, made, "__post_init__", [])
        finally:
            m.frames.pop()


def _field_default(m: Machine, default: ast.expr, frame: Frame) -> Value:
    """`field(default_factory=list)`, `field(default=3)` or a plain default."""
    m.frames.append(frame)
    try:
        if isinstance(default, ast.Call):
            if last_name(default.func) in ("field", "Field", "attrib"):
                return _from_field_call(m, default, frame)
        return expressions.evaluate(m, default, frame)
    finally:
        m.frames.pop()


def _from_field_call(m: Machine, node: ast.Call, frame: Frame) -> Value:
    for keyword in node.keywords:
        if keyword.arg == "default":
            return expressions.evaluate(m, keyword.value, frame)
        if keyword.arg in ("default_factory", "factory"):
            return calls.call(m, expressions.evaluate(m, keyword.value, frame), Arguments(), node, frame)
    return Unknown("field")
