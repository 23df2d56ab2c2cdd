"""Generator functions: a `for` or `with` body runs where the generator yields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import elements, functions, loops, orders
from graphlint.analysis.frames import Frame, Loop, Place
from graphlint.analysis.values import (
    NONE,
    Env,
    Function,
    Obj,
    Unknown,
    Value,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.facts.looking import SCOPES, may_say
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.walking import children

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@summary
def is_generator(node: ast.AST) -> bool:
    """Whether a function's own body yields."""
    return may_say(node, "yield") and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own_nodes(node))


@per_node
def own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a function without those of functions and classes inside it."""
    found: list[ast.AST] = []
    stack = list(getattr(node, "body", [])) if type(node) is not ast.Lambda else [node.body]
    while stack:
        current = stack.pop()
        found.append(current)
        kind = type(current)
        if kind is not ast.Name and kind is not ast.Constant and kind not in SCOPES:
            stack += children(current)
    return found


def suspended(m: Machine, function: Function, env: Env, place: Place) -> Obj:
    """The generator object that calling a generator function makes: nothing has run yet."""
    made = Obj("generator", place)
    made.fields.update({"function": function, "env": env, "call": place})
    return made


def is_project(value: Obj) -> bool:
    return "function" in value.fields


def begun(m: Machine, value: Value) -> Value:
    """What a loop over `value` goes through: an object whose `__iter__` is a generator is begun with it."""
    if not isinstance(value, Obj) or isinstance(value.cls, str):
        return value
    found = value.cls.find("__iter__")
    yields = found is not None and is_generator(found[1])
    return functions.call_method(m, value, "__iter__", []) if yields else value


def run_body(m: Machine, value: Obj, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    """`for target in generator: body`, the body run at each yield."""

    loop = Loop(0, frame.place(node))

    def on_yield(item: Value) -> Value:
        loops.run_yielded(m, node, item, loop, frame)
        return NONE

    drive(m, value, on_yield)


def drive(m: Machine, value: Obj, on_yield: object) -> list[Value]:
    """Run a generator to its end and return what it yielded."""
    assert callable(on_yield)
    return _run(m, value, on_yield).yielded


def delegate(m: Machine, value: Obj, on_yield: Callable[[Value], Value]) -> Value:
    """`yield from value`: what it yields goes to the consumer; the result is what it returns."""
    returned = _run(m, value, on_yield).returned
    return join_all(returned) if returned else NONE


def _run(m: Machine, value: Obj, on_yield: Callable[[Value], Value]) -> Frame:
    env = value.fields["env"]
    fresh = Env(env.module, env.parent)
    fresh.fields.update(env.fields)
    return functions.run_generator(m, value.fields["function"], fresh, value.fields["call"], on_yield)


def collect(m: Machine, value: Obj) -> tuple[tuple[Value, ...], Value | None]:
    """The values of a generator that is used as a plain iterable."""
    if not is_project(value):
        return (), Unknown("generator")
    yielded = drive(m, value, lambda item: NONE)
    orders.note_yields(m, value, yielded)
    return (), join_all(yielded) if yielded else Unknown("generator")


def iterate_object(m: Machine, value: Obj) -> tuple[tuple[Value, ...], Value | None]:
    """Iterate over an instance of a project class: its `__iter__` or its `__getitem__`."""
    for name in ("__iter__", "__getitem__"):
        found = value.cls.find(name) if not isinstance(value.cls, str) else None
        if found is None:
            continue
        args = [Unknown("index")] if name == "__getitem__" else []
        result = functions.call_method(m, value, name, args)
        if isinstance(result, Obj) and result.cls == "generator":
            return collect(m, result)
        if name == "__getitem__":
            return (), result
        return elements.of(m, result) if result is not value else ((), Unknown("iterator"))
    held = value.fields.get("elements")
    if held is not None:
        return elements.of(m, held)
    return (), Unknown("element")


def nested_frame(m: Machine, frame: Frame) -> Frame:
    """The scope of a comprehension inside `frame`."""
    inner = Frame(frame.module, Env(frame.module, frame.env), frame.qualname, frame.function)
    inner.conditions = frame.conditions
    inner.nonlocals = frame.nonlocals
    inner.statement = frame.statement
    return inner
