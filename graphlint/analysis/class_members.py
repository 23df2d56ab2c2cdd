"""Members of classes: methods, class attributes that are evaluated once, enum members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    attributes,
    calls,
    classes,
    definitions,
    expressions,
    lazies,
    subclasses,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo, last_name
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    External,
    Function,
    Host,
    Unknown,
    Value,
    is_none,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "lazy_property"})


def of_enum_member(m: Machine, owner: Const, value: classes.EnumMember, name: str, place: Place) -> Value:
    """`Color.RED.name`, its value, or a member of its class."""
    if name in ("name", "_name_"):
        return Const(value.member)
    if name in ("value", "_value_"):
        written = value.info.attributes.get(value.member)
        if isinstance(written, ast.Constant):
            return Const(written.value)
        return Host("any", Change.CONSTANT, ("enum", str(value), name))
    found = value.info.find(name)
    if found is not None:
        info, node = found
        method = definitions.method_value(m, info, node, owner)
        return calls.call(m, method, Arguments(), place.node, m.frame, place) if is_property(node) else method
    return class_attribute(m, value.info, name) or External(f"enum.{name}", owner)


def of_class(m: Machine, owner: Class, name: str, frame: Frame) -> Value:
    """`C.name`: a method, a class attribute, what a library base gives."""
    info = owner.info
    found = method(info, name)
    if found is not None:
        where, node = found
        return definitions.method_value(m, where, node, owner) if _is_bound(node) else _plain(m, where, node)
    value = class_cell(m, info, name, frame.here, owner)
    if value is not None:
        if is_none(value):
            lazies.note_absent(m, info.values, name)
        return value
    if name == "__name__":
        return Const(info.name)
    external = next(info.externals(), None)
    if external is not None:
        return External(f"{external}.{name}", owner)
    return Unknown(f"attribute `{name}` of class `{info.name}`")


def class_cell(m: Machine, info: ClassInfo, name: str, place: Place, owner: Value) -> Value | None:
    """What a class holds under a name: a cell like any other, which the program may write."""
    value = class_attribute(m, info, name)
    if isinstance(value, (Const, Host)) and not info.is_enum:
        holder = next((cls for cls in info.mro() if name in cls.values), None)
        return attributes.read_cell(m, holder.values, name, place, owner) if holder is not None else value
    return value


def method(info: ClassInfo, name: str) -> tuple[ClassInfo, ast.FunctionDef | ast.AsyncFunctionDef] | None:
    """The method `name`, unless the program assigned something else to a nearer class since."""
    found = info.find(name)
    for cls in info.mro() if found is not None else ():
        if name in cls.values:
            return None
        if found is not None and cls is found[0]:
            break
    return found


def _is_bound(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        isinstance(d, ast.Name) and d.id in ("classmethod", "staticmethod") for d in node.decorator_list
    )


def _plain(m: Machine, info: ClassInfo, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    return Function(node, info.module, info.env, f"{info.scope}.{node.name}", cls=info)


def class_attribute(m: Machine, info: ClassInfo, name: str) -> Value | None:
    """A class-level attribute, evaluated once; enum members are constants of their own kind."""
    _announce_subclasses(m, info)
    for cls in info.mro():
        if name in cls.values:
            return cls.values[name]
        if name in cls.nested:
            cls.values[name] = definitions.define_class(m, cls.nested[name], definitions.class_frame(m, cls))
            return cls.values[name]
        if name not in cls.attributes or cls.attributes[name] is None:
            continue
        if cls.is_enum:
            return classes.enum_member(cls, name)
        frame = definitions.class_frame(m, cls)
        m.frames.append(frame)
        try:
            with m.before_everything():
                default = cls.attributes[name]
                assert default is not None
                cls.values[name] = expressions.evaluate(m, default, frame)
        finally:
            m.frames.pop()
        return cls.values[name]
    return None


def _announce_subclasses(m: Machine, info: ClassInfo) -> None:
    """Define the subclasses of a class whose `__init_subclass__` keeps note of them."""
    for cls in info.mro():
        if "__init_subclass__" in cls.methods and ("subclasses", id(cls)) not in m.memo:
            m.memo[("subclasses", id(cls))] = NONE
            with m.before_everything():
                subclasses.define_all(m, cls)


def class_name(m: Machine, info: ClassInfo, name: str) -> Value | None:
    """What a name means in a class body: one of the members that the body itself has so far."""
    if name in info.methods:
        return _plain(m, info, info.methods[name])
    if name in info.nested or info.attributes.get(name) is not None:
        key = (id(info), name)
        if key not in m.evaluating:
            m.evaluating.add(key)
            try:
                return class_attribute(m, info, name)
            finally:
                m.evaluating.discard(key)
    return None


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether reading the attribute calls the method."""
    return any(last_name(decorator) in PROPERTIES for decorator in node.decorator_list)
