"""Arguments for definitions that nobody calls: by annotation and default, fresh or as before."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from graphlint.analysis import (
    binding,
    definitions,
    hints,
    only_calls,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Place
from graphlint.analysis.own_text import text_of
from graphlint.analysis.roots import Root
from graphlint.analysis.values import (
    Change,
    Const,
    Function,
    Host,
    Obj,
    Unknown,
    Value,
    alternatives,
    is_none,
    join,
    join_all,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def waits_for_arguments(root: Root) -> bool:
    """Whether a definition captures by its text, or leads to what does, and has flags that are off."""
    if isinstance(root.node, ast.Module) or not (
        text_of(root.node).names & root.goals or text_of(root.node).captures
    ):
        return False
    node = root.node
    if isinstance(node, ast.ClassDef):
        inits = (s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__")
        init = next(inits, None)
        if init is None:
            return False
        node = init
    defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
    return any(isinstance(each, ast.Constant) and _is_flag(Const(each.value)) for each in defaults)


def of(m: Machine, value: Value, change: Change) -> Arguments:
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
        place = Place(function.module, arg, function.qualname)
        default = (function.defaults or {}).get(arg.arg)
        if change is Change.CONFIG and default is not None:
            if _is_host_device(default):
                arguments.kwargs[arg.arg] = Host("str", Change.CONFIG)
            elif m.open_defaults and _is_flag(default):
                arguments.kwargs[arg.arg] = join(default, _other_than(m, function, arg, default, place))
            continue
        arguments.kwargs[arg.arg] = _given(m, function, arg, change, place)
    if spec.kwarg is not None and change is Change.CHANGING:
        arguments.more_kwargs = Unknown("** argument", change)
    if spec.vararg is not None:
        arguments.more = _given(m, function, spec.vararg, change, Place.of(function))
        return _positional(arguments, parameters)
    return arguments


def of_constructor(m: Machine, info: ClassInfo) -> Arguments:
    """Arguments for the constructor of a class that nobody makes, or that others make with constants only."""
    found = info.find("__init__")
    if found is None:
        return Arguments()
    where, method = found
    made = of(m, definitions.method_value(m, where, method, Obj(info)), Change.CONFIG)
    made.kwargs |= only_calls.keywords(m, info.module, info.name, method)
    return made


def filled(m: Machine, info: ClassInfo, name: str) -> Value | None:
    """What a parameter of a constructor gets when it gets something: by its annotation, and not None."""
    found = info.find("__init__")
    if found is None:
        return None
    where, method = found
    for arg in [*method.args.args, *method.args.kwonlyargs]:
        if arg.arg == name and arg.annotation is not None:
            place = Place(where.module, arg, where.scope)
            value = hints.value_of(m, arg.annotation, where.module, Change.CONFIG, place)
            return join_all(part for part in alternatives(value) if not is_none(part))
    return None


def _is_flag(default: Value) -> bool:
    return isinstance(default, Const) and (default.value is None or isinstance(default.value, bool))


def _is_host_device(default: Value) -> bool:
    """Whether a default names the CPU: a program that captures runs its code somewhere else."""
    if isinstance(default, Obj) and default.cls == "torch.device":
        return bool(default.fields.get("type") == "cpu")
    return isinstance(default, Const) and default.value == "cpu"


def _other_than(m: Machine, function: Function, arg: ast.arg, default: Value, place: Place) -> Value:
    """What a caller may pass for a parameter whose default says that something is off."""
    assert isinstance(default, Const)
    if isinstance(default.value, bool):
        return Const(not default.value)
    return binding.synthesised(m, function, arg, Change.CONFIG, place)


def _positional(arguments: Arguments, parameters: list[ast.arg]) -> Arguments:
    """With `*args` the named parameters must be given by position."""
    for arg in parameters:
        if arg.arg in arguments.kwargs:
            arguments.args.append(arguments.kwargs.pop(arg.arg))
    return arguments


def _given(m: Machine, function: Function, arg: ast.arg, change: Change, place: Place) -> Value:
    default = (function.defaults or {}).get(arg.arg)
    if arg.annotation is None and isinstance(default, Const) and default.value is not None:
        return Host(type(default.value).__name__, change)
    return binding.synthesised(m, function, arg, change, place)


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


def repeat(arguments: Arguments, first: Arguments, same: Set[object]) -> None:
    """Give those arguments that a table is asked for by the values that they had in an earlier call."""
    if not same:
        return
    for name, value in first.kwargs.items():
        if tensor_ops.is_key(same, value):
            arguments.kwargs[name] = value
    for index, value in enumerate(first.args):
        if tensor_ops.is_key(same, value):
            arguments.args[index] = value
