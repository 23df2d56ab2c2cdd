"""Calls that can matter to no capture: logging, checks that at most raise, reports of what is.

Before there is any graph, a call that is a statement is not run when neither its text nor that of anything it
calls writes more than local names, captures, waits or gives work to a device. Its arguments are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import (
    calls,
    class_members,
    definitions,
    frameworks,
    hints,
    idle_text,
    names,
    signatures,
)
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.own_text import text_of
from graphlint.analysis.values import (
    Env,
    External,
    Function,
    Module,
    Obj,
    Partial,
    Union,
    Value,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# How many functions a call may lead to: what leads to more is run.
MOST = 24


def is_passed_over(m: Machine, function: Value, node: ast.Call, frame: Frame) -> bool:
    """Whether a call is a statement that can matter to no capture; its arguments have been evaluated then."""
    if m.captures or m.foreign is not None or (m.has_graphs and not m.earlier):
        return False
    statement = frame.statement
    if not isinstance(statement, ast.Expr) or statement.value is not node or not _is_idle(m, function):
        return False
    calls.evaluate_arguments(m, node, frame)
    return True


def _is_idle(m: Machine, function: Value) -> bool:
    """Whether a call of a value can matter to no capture; what it leads to counts as run where it cannot."""
    reached: list[Function] = []
    pending, met = [function], set()
    while pending:
        value = pending.pop()
        key = _identity(value)
        if key in met:
            continue
        met.add(key)
        called = _calls_of(m, value)
        if called is None or len(met) > MOST:
            return False
        pending += called
        reached += [value] if isinstance(value, Function) else []
    for each in reached:
        m.ran.setdefault((id(each.node), id(each.env)), each.env)
    return True


def _identity(value: Value) -> object:
    if not isinstance(value, Function):
        return value.name if isinstance(value, External) else id(value)
    owner = value.self_value
    return id(value.node), id(value.env), id(owner.cls) if isinstance(owner, Obj) else 0


def _calls_of(m: Machine, value: Value) -> list[Value] | None:
    """What calling a value calls in its turn; None where that may matter, or is not known."""
    if isinstance(value, Function):
        known = ("idle call", _identity(value))
        if known not in m.memo:
            m.memo[known] = (_calls_of_function(m, value), value)  # kept, so that its identity stays its own
        found: list[Value] | None = m.memo[known][0]
        return found
    if isinstance(value, External):
        return [] if _is_idle_external(value.name) else None
    if isinstance(value, Partial):
        return [value.function]
    if isinstance(value, Obj) and value.cls == "cached-function":
        return [value.fields["wrapped"]]
    return list(value.values) if isinstance(value, Union) else None


def _is_idle_external(dotted: str) -> bool:
    library = dotted.rpartition(".")[0]
    if library == "builtins":
        return dotted in operations.listed("idle_calls") or dotted.endswith(("Error", "Exception", "Warning"))
    idle = operations.listed("idle_libraries")
    return dotted in operations.listed("idle_calls") or any(
        library == each or library.startswith(f"{each}.") for each in idle
    )


def _calls_of_function(m: Machine, function: Function) -> list[Value] | None:
    node = function.node
    if isinstance(node, ast.Lambda) or frameworks.role_of(m, function) != frameworks.NO_ROLE:
        return None
    text = text_of(node)
    if text.holds or text.names & m.goals or idle_text.writes(node):
        return None
    found = list(_properties(m, function, text.names))
    for called in idle_text.called(node):
        value = _callee(m, function, called)
        if value is None:
            return None
        found.append(value)
    return found


def _properties(m: Machine, function: Function, mentioned: set[str]) -> Iterator[Value]:
    """The properties of its object that a method mentions: reading them calls them."""
    owner = function.self_value
    if isinstance(owner, Obj) and isinstance(owner.cls, ClassInfo):
        for name in sorted(mentioned):
            found = class_members.method(owner.cls, name)
            if found is not None and class_members.is_property(found[1]):
                yield definitions.method_value(m, *found, owner)


def _callee(m: Machine, function: Function, called: ast.expr) -> Value | None:
    """What an expression that a function calls stands for; None where only running the function tells."""
    if isinstance(called, ast.Name):
        return _named(m, function, called.id)
    if not isinstance(called, ast.Attribute):
        return None
    if isinstance(called.value, ast.Constant):
        return External(f"host.{called.attr}")
    owner = _owner(m, function, called.value)
    if isinstance(owner, Module):
        return names.module_attribute(m, owner.file, called.attr)
    if isinstance(owner, External):
        return External(names.canonical(f"{owner.name}.{called.attr}"))
    if isinstance(owner, Obj):
        return _method(m, owner, called.attr)
    return None


def _method(m: Machine, owner: Obj, name: str) -> Value | None:
    held = owner.fields.get(name)
    if isinstance(held, Value):
        return held
    if isinstance(owner.cls, str):
        return External(f"{owner.cls}.{name}")
    found = class_members.method(owner.cls, name)
    return definitions.method_value(m, *found, owner) if found is not None else None


def _owner(m: Machine, function: Function, node: ast.expr) -> Value | None:
    """What a method is called on: the object itself, a parameter of a known class, or a global."""
    if isinstance(node, ast.Attribute):
        owner = _owner(m, function, node.value)
        if isinstance(owner, Module):
            return names.module_attribute(m, owner.file, node.attr)
        return External(f"{owner.name}.{node.attr}") if isinstance(owner, External) else None
    if not isinstance(node, ast.Name):
        return None
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    if positional and node.id == positional[0].arg and function.self_value is not None:
        return function.self_value
    for each in signatures.named(spec):
        if each.arg == node.id:
            return hints.resolve(m, each.annotation, function.module) if each.annotation is not None else None
    return _named(m, function, node.id)


def _named(m: Machine, function: Function, name: str) -> Value | None:
    """What a name means in a function that is not run: what it imports, closes over, or finds globally."""
    assert not isinstance(function.node, ast.Lambda)
    imports = idle_text.imports(function.node)
    if name in imports:
        return names.imported(m, function.module, imports[name], name)
    if name in idle_text.local_names(function.node):
        return None
    held = _closed_over(function.env, name)
    if held is not None:
        return held
    value = names.module_attribute(m, function.module, name)
    return value if value is not None else External(f"builtins.{name}")


def _closed_over(env: Env | None, name: str) -> Value | None:
    for scope in (env, *env.parents()) if env is not None else ():
        held = scope.fields.get(name)
        if isinstance(held, Value):
            return held
    return None
