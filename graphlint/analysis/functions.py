"""Project functions and classes: definition, decorators, calling."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from graphlint.analysis import (
    binding,
    budgets,
    calls,
    captures,
    classes,
    deferral,
    expressions,
    frameworks,
    generators,
    hints,
    lifetimes,
    outputs,
    own_text,
    statements,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import CutShort, Frame, Place
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
    Partial,
    Unknown,
    Value,
    alternatives,
    join,
    join_all,
    now,
)
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# How many statements a function has at most that only reads.
LONGEST_GETTER = 4

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


# definitions


def function_value(m: Machine, node: FunctionNode, frame: Frame, name: str) -> Function:
    """A function object made by the running code, with its defaults evaluated now."""
    qualname = name if frame.qualname == "<module>" else f"{frame.qualname}.{name}"
    env = frame.env if frame.qualname != "<module>" or frame.env.parent is not None else None
    made = Function(node, frame.module, env, qualname)
    made.defaults = _defaults(m, node.args, frame)
    return made


def _defaults(m: Machine, args: ast.arguments, frame: Frame) -> dict[str, Value]:
    found: dict[str, Value] = {}
    positional = [*args.posonlyargs, *args.args]
    for arg, default in zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True):
        found[arg.arg] = expressions.evaluate(m, default, frame)
    for arg, kw_default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if kw_default is not None:
            found[arg.arg] = expressions.evaluate(m, kw_default, frame)
    return found


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


def typed(m: Machine, value: Value, annotation: ast.expr | None, frame: Frame) -> Value:
    """`value`, or what its annotation says when nothing else is known of it."""
    if annotation is None or not isinstance(value, Unknown):
        return value
    return hints.value_of(m, annotation, frame.module, value.change, frame.place(annotation))


# calling


def call_function(m: Machine, function: Function, arguments: Arguments, place: Place) -> Value:
    """Call a project function: binding.bind, run, and join what its `return` statements give.

    A guard answers whether a capture is open; a declared function is a capture region of its own.
    """
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
    if m.captures and role.hole:
        return _outside(m, function, arguments, place)
    if own_text.is_declared(function.node) and not m.captures and function.node not in m.warming:
        return _call_declared(m, function, arguments, place)
    env = binding.bind(m, function, arguments, place)
    reached = m.captures or ([m.foreign] if m.foreign is not None else [])
    for capture in reached:
        capture.functions.setdefault(id(function.node), (Place.of(function), m.chain(place)))
    if m.captures:
        _note_first_run(m, function, place)
    m.ran[(id(function.node), id(function.env))] = function.env
    m.executed[id(function.node)] = m.executed.get(id(function.node), 0) + 1
    if generators.is_generator(function.node):
        return generators.suspended(m, function, env, place)
    return _run_memoised(m, function, env, place)


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
    captures.start(m, "declared", Place.of(function), graph, compiled=compiled)
    m.captures[-1].facts["warmed"] = True
    try:
        with m.compiling() if compiled else nullcontext():
            return call_function(m, function, arguments, place)
    finally:
        captures.end(m, place)


def _outside(m: Machine, function: Function, arguments: Arguments, place: Place) -> Value:
    """A call that runs between two graphs: what it returns is known by its annotation only."""
    given = [t for value in arguments.all() for t in tensors_in(value, 2)]
    result = _declared_result(m, function, place)
    return tensor_ops.opaque_result(m, place) if given and isinstance(result, Unknown) else result


def _note_first_run(m: Machine, function: Function, place: Place) -> None:
    """A region calls a function of the project, or a closure of one, that has never run before."""
    capture = m.captures[-1]
    if m.lost:
        return  # a warm-up may be among the calls that were cut short
    if len(m.frames) - 1 == capture.depth and (id(function.node), id(function.env)) not in m.ran:
        capture.first_runs.add(place.hop)


def _run_memoised(m: Machine, function: Function, env: Env, place: Place) -> Value:
    """Run a function unless this scenario has seen it often enough, or it is too deep."""
    code = _closure_of(function)
    owner = _owner(function, env)
    shape = _shape(env)
    where = id(m.capture.graph) if m.capture else 0  # what a capture makes is not what eager code makes
    key = (code, owner, shape, bool(m.captures), where)
    too_deep = is_too_deep(m, function)
    if too_deep and m.captures and len(m.frames) > m.MAX_DEPTH:
        m.unresolved(place, f"calls are followed {m.MAX_DEPTH} deep")
    if too_deep or (m.visits.get(key, 0) >= m.VISITS and not _is_getter(function.node)):
        if not m.captures:
            m.skipped.add(id(function.node))
        known = m.memo.get((where, code, owner, shape)) or m.memo.get((where, code, owner))
        return outputs.as_of_now(known) if isinstance(known, Value) else _declared_result(m, function, place)
    m.visits[key] = m.visits.get(key, 0) + 1
    value = run(m, function, env, place)
    m.memo[(where, code, owner)] = m.memo[(where, code, owner, shape)] = value
    return value


@summary
def _is_getter(node: ast.AST) -> bool:
    """Whether a function only reads: it costs nothing, and what it reads may have changed since then."""
    if isinstance(node, ast.Lambda) or len(node.body) > LONGEST_GETTER:  # type: ignore[attr-defined]
        return False
    working = (ast.Call, ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
    return not any(isinstance(part, working) for part in walk(node))


def _owner(function: Function, env: Env) -> int:
    """The object that a method runs on, also where a wrapper hands it on as the first argument; else 0."""
    value = function.self_value
    if value is None and function.cls is not None:
        value = next((each for each in env.fields.values() if isinstance(each, Value)), None)
    return value.serial if isinstance(value, Obj) else 0


def _shape(env: Env) -> tuple[object, ...]:
    """What decides where a call leads: the callables, classes and modes among its arguments."""
    return tuple(_kind_of(value) for value in env.fields.values())


def _kind_of(value: object) -> object:
    if isinstance(value, Function):
        return _closure_of(value)
    if isinstance(value, Obj):
        return value.cls if isinstance(value.cls, str) else id(value.cls)
    if isinstance(value, Class):
        return id(value.info)
    if isinstance(value, Const) and (value.value is None or isinstance(value.value, (bool, str))):
        return value.value
    return type(value)


def _closure_of(function: Function, depth: int = 3) -> object:
    """What tells closures of one text apart: the functions that they close over, as wrappers do."""
    held = function.env.fields.values() if function.env is not None and depth else ()
    inner = tuple(_closure_of(value, depth - 1) for value in held if isinstance(value, Function))
    return (id(function.node), inner) if inner else id(function.node)


def is_too_deep(m: Machine, function: Function) -> bool:
    """Whether a function runs on the same object thrice, on others too often, or calls nest too deeply."""
    calls_ = [f.function for f in m.frames if f.function is not None and f.call is not None]
    running = [other for other in calls_ if other.node is function.node]
    if len(running) > 2:  # wrappers of one decorator around different functions are no recursion
        code = _closure_of(function)
        running = [other for other in running if _closure_of(other) == code]
    on_same = sum(1 for other in running if other.self_value is function.self_value)
    return on_same > 2 or len(running) > m.RECURSION or len(m.frames) > m.MAX_DEPTH


def _declared_result(m: Machine, function: Function, place: Place) -> Value:
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
    except CutShort as cut_short:
        if cut_short.frame is not frame:
            raise
        budgets.take_back(m, frame)
        is_cut = True
    finally:
        m.frames.pop()
    if (
        is_cut
    ):  # what stands in for the call is found out without it: it may be costly, and cut something short
        return deferral.cut(m, function, env, place)
    if len(m.finished) > since:
        lifetimes.at_return(m, frame, given, since)
    return _result(m, function, frame, place)


def _result(m: Machine, function: Function, frame: Frame, place: Place) -> Value:
    if not frame.returned:
        return NONE if frame.reachable else Unknown("always raises")
    value = join_all(frame.returned)
    if frame.reachable and not isinstance(function.node, ast.Lambda):
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
    if is_too_deep(m, function):
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
    function = method_value(m, info, node, owner)
    place = Place(info.module, node, f"{info.scope}.{name}")
    return calls.call(
        m, function, Arguments(list(args)), node, m.frame if m.frames else top_frame(m, info), place
    )


def call_value(m: Machine, function: Value, node: ast.AST, frame: Frame, *args: Value) -> Value:
    """Call any value with positional arguments."""
    return calls.call(m, function, Arguments(list(args)), node, frame)


def top_frame(m: Machine, info: ClassInfo) -> Frame:
    return Frame(info.module, m.env_of(info.module), "<module>")


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
    name = decorator.id if isinstance(decorator, ast.Name) else getattr(decorator, "attr", "")
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
