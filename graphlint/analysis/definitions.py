"""Definitions: functions, methods and classes as values, their decorators applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    calls,
    classes,
    expressions,
    signatures,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo, last_name
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import (
    Class,
    Env,
    External,
    Function,
    Host,
    Obj,
    Partial,
    Unknown,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def function_value(m: Machine, node: FunctionNode, frame: Frame, name: str) -> Function:
    """A function object made by the running code, with its defaults evaluated now."""
    qualname = name if frame.qualname == "<module>" else f"{frame.qualname}.{name}"
    env = frame.env if frame.qualname != "<module>" or frame.env.parent is not None else None
    made = Function(node, frame.module, env, qualname)
    made.defaults = _defaults(m, node.args, frame)
    return made


def _defaults(m: Machine, args: ast.arguments, frame: Frame) -> dict[str, Value]:
    return {name: expressions.evaluate(m, each, frame) for name, each in signatures.defaults(args)}


def define_function(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Value:
    """`def`: the function, wrapped by its decorators from the inside out."""
    value: Value = function_value(m, node, frame, node.name)
    for decorator in reversed(node.decorator_list):
        value = decorated(m, value, decorator, frame)
    return value


def decorated(m: Machine, value: Value, decorator: ast.expr, frame: Frame) -> Value:
    """Apply one decorator; one that cannot be followed is taken to leave the function as it is."""
    applied = expressions.evaluate(m, decorator, frame)
    result = calls.call(m, applied, Arguments([value]), decorator, frame)
    return value if isinstance(result, (Unknown, Host)) else result


def define_class(m: Machine, node: ast.ClassDef, frame: Frame) -> Value:
    """`class`: one `ClassInfo` for each statement, its bases resolved here."""
    info = m.classes.get(id(node))
    if info is None:
        qualname = node.name if frame.qualname == "<module>" else f"{frame.qualname}.{node.name}"
        env = None if frame.qualname == "<module>" else frame.env
        while env is not None and env.cls is not None:
            env = env.parent  # methods do not see the names of the class around them
        info = m.classes[id(node)] = ClassInfo(node, frame.module, env, qualname)
        for base in node.bases:
            add_base(info, expressions.evaluate(m, _unsubscripted(base), frame))
        _tell_base(m, info, frame)
    return _decorated_class(m, Class(info), node, frame)


def _tell_base(m: Machine, info: ClassInfo, frame: Frame) -> None:
    """`__init_subclass__` of the nearest base runs when a class is defined."""
    found = info.find("__init_subclass__", info)
    if found is None:
        return
    owner, node = found
    keywords = {k.arg: expressions.evaluate(m, k.value, frame) for k in info.node.keywords if k.arg}
    hook = Function(node, owner.module, owner.env, f"{owner.scope}.__init_subclass__", cls=owner)
    calls.call(m, hook.bind(Class(info)), Arguments([], keywords), info.node, frame)


def _decorated_class(m: Machine, made: Class, node: ast.ClassDef, frame: Frame) -> Value:
    """A class after its decorators; one whose result is not known is taken to keep the class."""
    value: Value = made
    for decorator in reversed(node.decorator_list):
        if not classes.names_record(decorator):
            applied = expressions.evaluate(m, decorator, frame)
            result = calls.call(m, applied, Arguments([value]), decorator, frame)
            value = result if isinstance(result, (Class, Function, Partial, Obj)) else value
    return value


def _unsubscripted(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def add_base(info: ClassInfo, base: Value) -> None:
    """Note what an expression among the bases of a class turned out to be."""
    for part in alternatives(base):
        if isinstance(part, Class):
            info.add_base(part.info)
        elif isinstance(part, External):
            info.add_external_base(part.name)
        else:
            info.unknown_bases = True


def method_value(
    m: Machine, info: ClassInfo, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: Value
) -> Value:
    """The method as it is got from an instance or class: decorators applied, `self` bound."""
    key = ("method", node, owner.serial) if isinstance(owner, Obj) and node.decorator_list else None
    if key is not None and isinstance(made := m.memo.get(key), Obj):
        return made
    frame = class_frame(m, info)
    base = Function(node, info.module, info.env, f"{info.scope}.{node.name}", cls=info)
    m.frames.append(frame)
    try:
        base.defaults = _defaults(m, node.args, frame)
        value: Value = base.bind(owner) if not _is_static(node) else base
        for decorator in reversed(node.decorator_list):
            value = _apply_method_decorator(m, value, decorator, owner, frame)
    finally:
        m.frames.pop()
    if key is not None and isinstance(value, Obj):
        m.memo[key] = value  # what a library makes of a method, as `torch.compile` does, is made once
    return value


def class_frame(m: Machine, info: ClassInfo) -> Frame:
    """A frame in which a class body's expressions are evaluated."""
    env = Env(info.module, info.env, info)
    return Frame(info.module, env, info.scope)


def _is_static(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _apply_method_decorator(
    m: Machine, value: Value, decorator: ast.expr, owner: Value, frame: Frame
) -> Value:
    name = last_name(decorator)
    if name in ("staticmethod", "property", "cached_property", "abstractmethod", "setter", "override"):
        return value
    if name == "classmethod":
        cls = Class(owner.cls) if isinstance(owner, Obj) and isinstance(owner.cls, ClassInfo) else owner
        return value.bind(cls) if isinstance(value, Function) else value
    applied = expressions.evaluate(m, decorator, frame)
    if isinstance(applied, Function) and isinstance(value, Function) and value.self_value is not None:
        unbound = Function(
            value.node, value.module, value.env, value.qualname, cls=value.cls, defaults=value.defaults
        )
        result = calls.call(m, applied, Arguments([unbound]), decorator, frame)
        return result.bind(value.self_value) if isinstance(result, Function) else value
    result = calls.call(m, applied, Arguments([value]), decorator, frame)
    return value if isinstance(result, (Unknown, Host)) else result
