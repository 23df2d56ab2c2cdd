"""Calling project functions: what stands in for a call, the run of a body, its ways out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from graphlint.analysis import (
    binding,
    budgets,
    calls,
    captures,
    deferral,
    definitions,
    expressions,
    frameworks,
    generators,
    hints,
    lifetimes,
    own_text,
    repeated,
    statements,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import CutShort, Frame, Place
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries import custom_operators
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    Env,
    External,
    Function,
    Host,
    Obj,
    Unknown,
    Value,
    join,
    join_all,
    now,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def typed(m: Machine, value: Value, annotation: ast.expr | None, frame: Frame) -> Value:
    """`value`, or what its annotation says when nothing else is known of it; a number stays the same one."""
    if annotation is None or type(value) is not Unknown:
        return value
    made = hints.value_of(m, annotation, frame.module, value.change, frame.place(annotation))
    if type(made) is Host:
        return Host(made.kind, made.change, identity_of(value)[1], made.cells)
    return value if type(made) is Unknown and value.typed and made.typed == value.typed else made


def call_function(m: Machine, function: Function, arguments: Arguments, place: Place) -> Value:
    """Call a project function: bind its arguments, run it, and join what its `return` statements give.

    A declared function is a capture region of its own.
    """
    answer = _by_role(m, function, arguments, place)
    if answer is not None:
        return answer
    if own_text.is_declared(function.node) and not m.captures and function.node not in m.warming:
        return _call_declared(m, function, arguments, place)
    env = binding.bind(m, function, arguments, place)
    _note_run(m, function, place)
    if generators.is_generator(function.node):
        return generators.suspended(m, function, env, place)
    return repeated.run(m, function, env, place)


def _by_role(m: Machine, function: Function, arguments: Arguments, place: Place) -> Value | None:
    """What a function gives that a framework has a role for: a guard answers whether a capture is open."""
    role = frameworks.role_of(m, function)
    if role.guard or getattr(function.node, "_guard", False):
        return Const(bool(m.captures))
    if role.transparent:
        decorated = next((arg for arg in arguments.args if isinstance(arg, (Function, Class))), None)
        return decorated or Obj("identity-decorator", place)
    if role.operator is not None:
        return custom_operators.register(m, role.operator, arguments, place)
    if (m.captures or m.warming) and role.assumed is not None:
        return Const(role.assumed)
    if role.unfollowed:
        return declared_result(m, function, place)
    if role.stands_for:
        return calls.call(m, External(role.stands_for), arguments, place.node, m.frame, place)
    if m.captures and role.hole:
        return _outside(m, function, arguments, place)
    return None


def _note_run(m: Machine, function: Function, place: Place) -> None:
    reached = m.captures or ([m.foreign] if m.foreign is not None else [])
    code = id(function.node)
    for capture in reached:
        if code not in capture.functions:
            capture.functions[code] = (Place.of(function), m.chain(place))
    if m.captures:
        _note_first_run(m, function, place)
    m.ran[(code, id(function.env))] = function.env
    m.executed[code] = m.executed.get(code, 0) + 1


def _call_declared(m: Machine, function: Function, arguments: Arguments, place: Place) -> Value:
    if own_text.is_declared_by_profile(function.node):
        m.warming.append(function.node)
        try:
            call_function(m, function, arguments, place)  # frameworks run what they capture before
        finally:
            m.warming.pop()
    graph = Obj("torch.cuda.CUDAGraph", place)
    graph.fields["stamp"] = 0
    compiled = own_text.is_declared_compiled(function.node)
    captures.start(m, captures.DECLARED, Place.of(function), graph, compiled=compiled)
    m.captures[-1].facts["warmed"] = True
    try:
        with m.compiling() if compiled else nullcontext():
            return call_function(m, function, arguments, place)
    finally:
        captures.end(m, place)


def _outside(m: Machine, function: Function, arguments: Arguments, place: Place) -> Value:
    """A call that runs between two graphs: what it returns is known by its annotation only."""
    given = [t for value in arguments.all() for t in tensors_in(value, 2)]
    result = declared_result(m, function, place)
    return tensor_ops.opaque_result(m, place) if given and isinstance(result, Unknown) else result


def _note_first_run(m: Machine, function: Function, place: Place) -> None:
    """A region calls a function of the project, or a closure of one, that has never run before."""
    capture = m.captures[-1]
    if m.lost:
        return  # a warm-up may be among the calls that were cut short
    if len(m.frames) - 1 == capture.depth and (id(function.node), id(function.env)) not in m.ran:
        capture.first_runs.add(place.hop)


def declared_result(m: Machine, function: Function, place: Place) -> Value:
    """What the annotation of a function says that a call gives."""
    returns = getattr(function.node, "returns", None)
    if returns is None:
        return Unknown("recursion")
    return hints.value_of(m, returns, function.module, Change.CONFIG, place)


def run(m: Machine, function: Function, env: Env, place: Place) -> Value:
    """Run a function body in a frame of its own."""
    if (id(function.node), id(function.env)) in m.cuts and not m.captures:
        return deferral.cut(m, function, env, place)
    frame = Frame(function.module, env, function.qualname, function, place)
    frame.level, frame.began = m.heap.open(), m.steps
    frame.opened = (len(m.open_exits), len(m.contexts), len(m.streams))
    given, since, frame.born = tuple(env.fields.values()), len(m.finished), now()
    is_cut = False
    m.frames.append(frame)
    try:
        if isinstance(function.node, ast.Lambda):
            frame.returned.append(expressions.evaluate(m, function.node.body, frame))
            m.heap.close()
        else:
            statements.execute(m, function.node.body, frame)
            rejoin(m, frame)
        m.heap.forget(env.fields)
    except CutShort as cut_short:
        if cut_short.frame is not frame:
            raise
        budgets.take_back(m, frame)
        is_cut = True
    finally:
        m.frames.pop()
    if is_cut:  # what stands in for it is found out without it: it may be costly, and cut something short
        return deferral.cut(m, function, env, place)
    if len(m.finished) > since:
        lifetimes.at_return(m, frame, given, since)
    return _result(m, function, frame, place)


def _result(m: Machine, function: Function, frame: Frame, place: Place) -> Value:
    if not frame.returned:
        return NONE if frame.reachable else Unknown("always raises")
    value = join_all(frame.returned)
    if frame.reachable and type(function.node) is not ast.Lambda:
        value = join(value, NONE)
    return typed(m, value, getattr(function.node, "returns", None), frame)


def leave(m: Machine, frame: Frame) -> None:
    """`return`: keep the state that it leaves with."""
    straight = len(m.heap.journals) == frame.level + 1
    frame.exits.append({} if straight and not frame.exits else m.heap.snapshot(frame.level))
    frame.reachable = False


def rejoin(m: Machine, frame: Frame) -> None:
    """At the end of a body: the state is the join of all ways out."""
    if not frame.exits or (len(frame.exits) == 1 and not frame.exits[0] and not frame.reachable):
        m.heap.close()
        return
    outcomes = list(frame.exits)
    if frame.reachable:
        outcomes.append(m.heap.snapshot(frame.level))
    m.heap.undo()
    m.heap.merge(outcomes)


def run_generator(
    m: Machine, function: Function, env: Env, place: Place, on_yield: Callable[[Value], Value]
) -> Frame:
    """Run a generator's body to its end; `on_yield` runs in the consumer at each yield."""
    frame = Frame(function.module, env, function.qualname, function, place)
    if repeated.is_too_deep(m, function):
        return frame
    frame.on_yield = on_yield
    frame.level = m.heap.open()
    m.frames.append(frame)
    try:
        if not isinstance(function.node, ast.Lambda):
            statements.execute(m, function.node.body, frame)
        rejoin(m, frame)
    finally:
        m.frames.pop()
    return frame


def call_method(m: Machine, owner: Obj, name: str, args: Sequence[Value]) -> Value:
    """Call a method of a project object from the machine itself."""
    found = owner.cls.find(name) if not isinstance(owner.cls, str) else None
    if found is None:
        return Unknown(f"no method `{name}`")
    info, node = found
    function = definitions.method_value(m, info, node, owner)
    place = Place(info.module, node, f"{info.scope}.{name}")
    return calls.call(
        m, function, Arguments(list(args)), node, m.frame if m.frames else top_frame(m, info), place
    )


def call_value(m: Machine, function: Value, node: ast.AST, frame: Frame, *args: Value) -> Value:
    """Call any value with positional arguments."""
    return calls.call(m, function, Arguments(list(args)), node, frame)


def top_frame(m: Machine, info: ClassInfo) -> Frame:
    return Frame(info.module, m.env_of(info.module), "<module>")
