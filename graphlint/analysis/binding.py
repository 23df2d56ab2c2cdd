"""Binding: which parameter of a project function gets which argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import duck, hints, numeric_uses
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries import module_containers
from graphlint.analysis.values import (
    NONE,
    Change,
    Const,
    Env,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Unknown,
    Value,
    as_integer,
    is_none,
    join,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def bind(m: Machine, function: Function, arguments: Arguments, place: Place) -> Env:
    """Parameters to values; what is not given comes from defaults or from the annotation."""
    env = Env(function.module, function.env)
    spec = function.node.args
    given = list(arguments.args)
    if function.self_value is not None:
        given.insert(0, function.self_value)
    kwargs = dict(arguments.kwargs)
    for arg in [*spec.posonlyargs, *spec.args]:
        if given:
            value = given.pop(0)
        elif arg.arg in kwargs:
            value = kwargs.pop(arg.arg)
        else:
            value = _missing(m, function, arg, arguments, place)
        env.fields[arg.arg] = _typed_parameter(m, function, arg, value, place)
    if spec.vararg is not None:
        env.fields[spec.vararg.arg] = Sequence_(given, "tuple", arguments.more)
    for arg in spec.kwonlyargs:
        value = kwargs.pop(arg.arg) if arg.arg in kwargs else _missing(m, function, arg, arguments, place)
        env.fields[arg.arg] = _typed_parameter(m, function, arg, value, place)
    if spec.kwarg is not None:
        env.fields[spec.kwarg.arg] = _keywords(kwargs, arguments.more_kwargs)
    return env


def _keywords(kwargs: dict[str, Value], more: Value | None) -> Mapping:
    made = Mapping()
    for name, value in kwargs.items():
        made.fields[("const", name)] = (Const(name), value)
    if more is not None:
        made.fields[Mapping.REST] = (Host("str"), more)
    return made


def _missing(m: Machine, function: Function, arg: ast.arg, arguments: Arguments, place: Place) -> Value:
    default = (function.defaults or {}).get(arg.arg)
    if arguments.more is not None and default is None:
        return arguments.more
    if default is not None:
        return default
    return synthesised(m, function, arg, Change.CONFIG, place)


def _typed_parameter(m: Machine, function: Function, arg: ast.arg, value: Value, place: Place) -> Value:
    if type(value) is Unknown and arg.annotation is not None:
        made = hints.value_of(m, arg.annotation, function.module, value.change, place)
        is_known = type(made) is Unknown and value.typed and made.typed == value.typed
        return value if is_known else made
    if type(value) is Unknown and numeric_uses.is_integer(function, arg.arg):
        return as_integer(value)
    return value


def synthesised(m: Machine, function: Function, arg: ast.arg, change: Change, place: Place) -> Value:
    """A parameter nobody in the project gives: what its annotation, or nothing, says."""
    here = Place(function.module, arg, function.qualname)
    if arg.annotation is None:
        return _by_use(m, function, arg.arg, change, here)
    value = hints.value_of(m, arg.annotation, function.module, change, here)
    if isinstance(value, Obj) and value.cls == "torch.nn.Module":
        return duck.guess(m, function, arg.arg, change, here) or value
    if isinstance(value, Obj) and value.cls in module_containers.LISTS:
        child = duck.guess_children(m, function, arg.arg, change, here)
        value.fields["elements"] = Sequence_((), "list", child or Obj("torch.nn.Module", here))
    return value


def _by_use(m: Machine, function: Function, name: str, change: Change, here: Place) -> Value:
    """A parameter without annotation: what the program does with it says what it is, or nothing does."""
    if numeric_uses.is_integer(function, name):
        optional = name in (function.defaults or {}) and is_none((function.defaults or {}).get(name))
        return join(Host("int", change), NONE) if optional else Host("int", change)
    guessed = duck.guess(m, function, name, change, here)
    return guessed if guessed is not None else Unknown(f"argument `{name}`", change)
