"""Which parts of a program are run, and in which order: construct, capture, then step after step.

Every root (see `roots`) gets a machine of its own. A class is lived through: constructor, what prepares
it, what captures, then everything else in the order of the text, and what replays again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import calls, functions, generators, statements, synthesis
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo, Def
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.roots import Root, is_declared, text_of
from graphlint.analysis.values import (
    Change,
    Class,
    Const,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Unknown,
    Value,
    alternatives,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run(m: Machine, root: Root) -> None:
    """Run one root from a fresh state."""
    frame = Frame(root.module, m.env_of(root.module), "<module>")
    m.frames.append(frame)
    try:
        if isinstance(root.node, ast.Module):
            statements.execute(m, root.node.body, frame)
        elif isinstance(root.node, ast.ClassDef):
            _live_class(m, root, frame)
        else:
            _run_function(m, root, frame)
        _run_uncalled(m, frame)
    finally:
        m.frames.pop()
        while m.captures:
            m.captures.pop()


def _run_function(m: Machine, root: Root, frame: Frame) -> None:
    from graphlint.analysis import names

    value = names.module_attribute(m, root.module, root.qualname)
    if value is None or isinstance(value, Unknown):
        return
    result = calls.call(m, value, _arguments(m, value, Change.CONFIG), root.node, frame)
    _use_result(m, result, frame, root.node)


def _run_uncalled(m: Machine, frame: Frame) -> None:
    """Functions defined inside others that capture and that nobody called: hooks, callbacks, tasks."""
    for function in m.nested:
        if id(function.node) not in m.executed:
            calls.call(m, function, _arguments(m, function, Change.CONFIG), function.node, frame)


def _arguments(m: Machine, value: Value, change: Change) -> Arguments:
    """Arguments for a callable that nobody calls: by annotation, of the given changeability."""
    function = _unwrapped(value)
    arguments = Arguments()
    if function is None:
        return arguments
    spec = function.node.args
    parameters = [*spec.posonlyargs, *spec.args]
    if function.self_value is not None and parameters:
        parameters = parameters[1:]
    for arg in [*parameters, *spec.kwonlyargs]:
        if change is Change.CONFIG and arg.arg in (function.defaults or {}):
            continue
        place = Place(function.module, arg, function.qualname)
        arguments.kwargs[arg.arg] = _given(m, function, arg, change, place)
    if spec.vararg is not None:
        arguments.more = _given(m, function, spec.vararg, change, place_of(function))
        return _positional(arguments, parameters, spec.kwonlyargs)
    return arguments


def _positional(arguments: Arguments, parameters: list[ast.arg], keyword_only: list[ast.arg]) -> Arguments:
    """With `*args` the named parameters must be given by position."""
    for arg in parameters:
        if arg.arg in arguments.kwargs:
            arguments.args.append(arguments.kwargs.pop(arg.arg))
    return arguments


def place_of(function: Function) -> Place:
    return Place(function.module, function.node, function.qualname)


def _given(m: Machine, function: Function, arg: ast.arg, change: Change, place: Place) -> Value:
    default = (function.defaults or {}).get(arg.arg)
    if arg.annotation is None and isinstance(default, Const) and default.value is not None:
        return Host(type(default.value).__name__, change)
    return functions.synthesised(m, function, arg, change, place)


def _unwrapped(value: Value) -> Function | None:
    """The project function behind decorators that keep it."""
    for part in alternatives(value):
        if isinstance(part, Function):
            return part
        if isinstance(part, Obj):
            held = part.fields.get("wrapped")
            if isinstance(held, Value):
                return _unwrapped(held)
    return None


def _use_result(m: Machine, result: Value, frame: Frame, node: ast.AST, depth: int = 2) -> None:
    """Go on with what a root returned: call closures twice, step objects that replay."""
    for part in alternatives(result):
        if isinstance(part, Function) and part.env is not None:
            for _ in range(2):
                m.step += 1
                calls.call(m, part, _arguments(m, part, Change.CHANGING), node, frame)
        elif isinstance(part, Obj) and isinstance(part.cls, ClassInfo) and _class_holds(part.cls):
            _step_object(m, part, frame, node)
        elif depth and isinstance(part, Sequence_):
            for item in part.items:
                _use_result(m, item, frame, node, depth - 1)
        elif depth and isinstance(part, Mapping):
            for _, item in part.entries():
                _use_result(m, item, frame, node, depth - 1)


def _class_holds(info: ClassInfo) -> bool:
    return any(text_of(cls.node).holds for cls in info.mro())


# classes


def _live_class(m: Machine, root: Root, frame: Frame) -> None:
    from graphlint.analysis import names

    value = names.module_attribute(m, root.module, root.qualname)
    for part in alternatives(value) if value is not None else ():
        if isinstance(part, Class):
            owner = _constructed(m, part.info, frame, root.node)
            if owner is not None:
                _prepare_and_capture(m, owner, frame, root.node)
                _step_object(m, owner, frame, root.node)


def _constructed(m: Machine, info: ClassInfo, frame: Frame, node: ast.AST) -> Obj | None:
    found = info.find("__init__")
    arguments = Arguments()
    if found is not None:
        where, method = found
        scratch = Obj(info)
        function = functions.method_value(m, where, method, scratch)
        arguments = _arguments(m, function, Change.CONFIG)
    place = Place(info.module, node, info.scope)
    made = functions.construct(m, info, arguments, place)
    if isinstance(made, Obj):
        m.instances[id(info.node)] = made
        return made
    return None


def _methods(info: ClassInfo) -> dict[str, tuple[ClassInfo, Def]]:
    """The methods of a class and its project bases, the most derived of each name, in text order."""
    found: dict[str, tuple[ClassInfo, Def]] = {}
    for cls in info.mro():
        for name, node in cls.methods.items():
            found.setdefault(name, (cls, node))
    return found


def _reach(methods: dict[str, tuple[ClassInfo, Def]], name: str) -> Iterator[str]:
    """The methods that a method calls on itself, transitively, itself included."""
    seen: set[str] = set()
    stack = [name]
    while stack:
        current = stack.pop()
        if current in seen or current not in methods:
            continue
        seen.add(current)
        yield current
        stack.extend(text_of(methods[current][1]).names & methods.keys())


@dataclass(slots=True)
class Roles:
    """What the entry methods of a class are for."""

    prepare: list[str] = field(default_factory=list)
    capture: list[str] = field(default_factory=list)
    step: list[str] = field(default_factory=list)
    replay: list[str] = field(default_factory=list)


def roles_of(m: Machine, owner: Obj) -> Roles:
    """Sort the entry methods of an object by what their text does."""
    assert isinstance(owner.cls, ClassInfo)
    methods = _methods(owner.cls)
    called = {
        other
        for name, (_, node) in methods.items()
        if name != "__init__"
        for other in (text_of(node).names & methods.keys()) - {name}
    }
    called |= text_of(methods["__init__"][1]).names & methods.keys() if "__init__" in methods else set()
    roles = Roles()
    wanted = _missing_fields(owner, methods)
    for name, (_, node) in methods.items():
        if not _is_entry(name, node, called) and not is_declared(node):
            continue
        _assign_role(roles, name, node, methods, wanted)
    _move_warmups(roles, methods)
    return roles


def _move_warmups(roles: Roles, methods: dict[str, tuple[ClassInfo, Def]]) -> None:
    """A method that only runs what is captured, and keeps and returns nothing, is a warm-up: it comes first."""
    capturing = [name for name, (_, node) in methods.items() if text_of(node).captures]
    captured = {c for name in capturing for r in _reach(methods, name) for c in _own_calls(methods[r][1])}
    for name in [n for n in roles.step if n not in roles.replay]:
        nodes = [methods[r][1] for r in _reach(methods, name)]
        runs = any(_own_calls(node) & captured for node in nodes)
        if runs and not any(synthesis.written_fields(node) for node in nodes) and not _gives(nodes[0]):
            roles.step.remove(name)
            roles.prepare.append(name)


def _own_calls(node: Def) -> frozenset[str]:
    """The names that a method calls on its first parameter."""
    first = node.args.args[0].arg if node.args.args else ""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return frozenset(
        f.attr
        for f in called
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == first
    )


def _gives(node: Def) -> bool:
    """Whether a method returns or yields a value."""
    return any(
        isinstance(part, (ast.Return, ast.Yield)) and part.value is not None
        for part in generators.own_nodes(node)
    )


def _assign_role(
    roles: Roles, name: str, node: Def, methods: dict[str, tuple[ClassInfo, Def]], wanted: set[str]
) -> None:
    reached = list(_reach(methods, name))
    captures = any(text_of(methods[r][1]).captures for r in reached)
    replays = any(text_of(methods[r][1]).replays for r in reached)
    if replays:
        roles.step.append(name)
        roles.replay.append(name)
    elif captures:
        roles.capture.append(name)
    elif wanted & {f for r in reached for f in synthesis.written_fields(methods[r][1])}:
        roles.prepare.append(name)
    else:
        roles.step.append(name)


def _is_entry(name: str, node: Def, called: set[str]) -> bool:
    """Whether a method is called from outside the class."""
    if name in ("__call__", "forward", "__enter__", "__exit__"):
        return name not in called or name == "__call__"
    if name.startswith("__"):
        return False
    return name not in called and not _is_accessor(node)


def _is_accessor(node: Def) -> bool:
    names = {d.id if isinstance(d, ast.Name) else getattr(d, "attr", "") for d in node.decorator_list}
    return bool(names & {"property", "cached_property", "staticmethod", "abstractmethod", "setter"})


def _missing_fields(owner: Obj, methods: dict[str, tuple[ClassInfo, Def]]) -> set[str]:
    """Fields that captured code mentions and that are not set, or None, after construction."""
    capturing = [n for n, (_, node) in methods.items() if text_of(node).captures]
    mentioned = {x for n in capturing for r in _reach(methods, n) for x in text_of(methods[r][1]).names}
    written = {f for _, node in methods.values() for f in synthesis.written_fields(node)}
    made = {f for n in capturing for r in _reach(methods, n) for f in synthesis.written_fields(methods[r][1])}

    def is_absent(name: str) -> bool:
        value = owner.fields.get(name)
        return value is None or (isinstance(value, Const) and value.value is None)

    return {name for name in mentioned & written - made if is_absent(name)}


def capture_given(m: Machine, owner: Obj) -> None:
    """Bring an instance that a root is given to where its graphs are captured."""
    assert isinstance(owner.cls, ClassInfo)
    if text_of(owner.cls.node).captures and len(m.frames) < m.MAX_DEPTH // 2:
        frame = functions.top_frame(m, owner.cls)
        m.frames.append(frame)
        try:
            _prepare_and_capture(m, owner, frame, owner.cls.node)
        finally:
            m.frames.pop()


def _prepare_and_capture(m: Machine, owner: Obj, frame: Frame, node: ast.AST) -> None:
    roles = roles_of(m, owner)
    for name in [*roles.prepare, *roles.capture]:
        _call(m, owner, name, Change.CONFIG, frame, node)


def _step_object(m: Machine, owner: Obj, frame: Frame, node: ast.AST) -> None:
    """Call what is not capture-only in text order, then what replays once more."""
    roles = roles_of(m, owner)
    for name in [*roles.step, *roles.replay]:
        m.step += 1
        result = _call(m, owner, name, Change.CHANGING, frame, node)
        for part in alternatives(result):
            if isinstance(part, Function) and part.env is not None:
                calls.call(m, part, _arguments(m, part, Change.CHANGING), node, frame)


def _call(m: Machine, owner: Obj, name: str, change: Change, frame: Frame, node: ast.AST) -> Value:
    assert isinstance(owner.cls, ClassInfo)
    found = owner.cls.find(name)
    if found is None:
        return Unknown("method")
    info, method = found
    value = functions.method_value(m, info, method, owner)
    place = Place(info.module, method, f"{info.scope}.{name}")
    result = calls.call(m, value, _arguments(m, value, change), method, frame, place)
    if isinstance(result, Obj) and result.cls == "generator" and generators.is_project(result):
        generators.drive(m, result, lambda item: Unknown("sent"))
    return result
