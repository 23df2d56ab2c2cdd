"""`super()`: members after a class, in the project or in the library bases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    attributes,
    calls,
    class_members,
    definitions,
    expressions,
    library,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries.registry import MODELS
from graphlint.analysis.values import (
    Class,
    External,
    Obj,
    Unknown,
    Value,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def super_value(m: Machine, node: ast.Call, frame: Frame) -> Value:
    """`super()`, `super(C, x)`: an object whose attributes are looked up after a class."""
    made = Obj("super", frame.place(node))
    if len(node.args) == 2:
        after, owner = (expressions.evaluate(m, each, frame) for each in node.args)
        made.fields.update({"after": after, "self": owner})
        return made
    function = frame.function
    if function is not None and function.cls is not None:
        first = function.node.args.args[0].arg if function.node.args.args else ""
        made.fields["self"] = frame.env.fields.get(first, function.self_value)
        made.fields["after"] = Class(function.cls)
    return made


def get(m: Machine, owner: Obj, name: str, node: ast.AST, frame: Frame) -> Value:
    """`super().name`: the member after the current class, else the library base's."""
    self_value, after = owner.fields.get("self"), owner.fields.get("after")
    if not isinstance(self_value, (Obj, Class)) or not isinstance(after, Class):
        return Unknown("super")
    info = self_value.cls if isinstance(self_value, Obj) else self_value.info
    if not isinstance(info, ClassInfo):
        return Unknown("super")
    found = info.find(name, after.info) if after.info in info.mro() else None
    if found is not None:
        where, method = found
        if class_members.is_property(method):
            return calls.call(
                m, definitions.method_value(m, where, method, self_value), Arguments(), node, frame
            )
        return definitions.method_value(m, where, method, self_value)
    return _after_project_classes(m, self_value, info, name, frame.place(node))


def _after_project_classes(
    m: Machine, self_value: Obj | Class, info: ClassInfo, name: str, place: Place
) -> Value:
    """What `super().name` finds in the library bases, when no project class after the current one has it."""
    if name == "__init__":
        bases = (dotted for dotted in info.externals() if f"{dotted}.__init__" in MODELS)
        base = next(bases, "torch.nn.Module")
        return External(f"{base}.__init__", self_value)
    if name == "__call__" and info.is_module and isinstance(self_value, Obj):
        return attributes.get(m, self_value, "forward", place.node, m.frame)  # what calling a module comes to
    if isinstance(self_value, Obj):
        for dotted in info.externals():
            inherited = library.inherited_attribute(m, self_value, dotted, name, place)
            if inherited is not None:
                return inherited
    return Unknown(f"super().{name}")
