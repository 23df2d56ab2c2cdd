"""Calls: evaluating arguments and dispatching on what the callee turns out to be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from graphlint.analysis import (
    attributes,
    captures,
    elements,
    expressions,
    functions,
    handed,
    ignored,
    indexing,
    instances,
    library,
    lifetimes,
    parallel,
    storing,
    streams,
    supers,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.libraries import hooks, module_containers, nn
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.values import (
    GRAPH_CONTEXT,
    MOVED,
    Change,
    Class,
    Const,
    External,
    Function,
    Mapping,
    Obj,
    Partial,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

FAN_OUT = 8


def evaluate_call(m: Machine, node: ast.Call, frame: Frame) -> Value:
    """A call expression."""
    if type(node.func) is ast.Name and node.func.id == "super":
        return supers.super_value(m, node, frame)
    function = expressions.evaluate(m, node.func, frame)
    if m.captures and not _is_of_torch_or_builtin(function):
        m.captures[-1].calls[frame.place(node).key] = _is_own(node.func)
    arguments = evaluate_arguments(m, node, frame)
    return call(m, function, arguments, node, frame)


def _is_of_torch_or_builtin(function: Value) -> bool:
    return all(
        type(part) is External and part.owner is None and part.name.startswith(("torch.", "builtins."))
        for part in alternatives(function)
        if not is_none(part)
    )


def _is_own(callee: ast.expr) -> bool:
    return type(callee) is ast.Attribute and type(callee.value) is ast.Name and callee.value.id == "self"


def evaluate_arguments(m: Machine, node: ast.Call, frame: Frame) -> Arguments:
    """The arguments of a call, `*args` and `**kwargs` spread as far as they are known."""
    arguments = Arguments()
    for argument in node.args:
        if type(argument) is ast.Starred:
            known, rest = elements.of(m, expressions.evaluate(m, argument.value, frame))
            arguments.args.extend(known)
            if rest is not None:
                arguments.more = rest if arguments.more is None else join(arguments.more, rest)
        else:
            arguments.args.append(expressions.evaluate(m, argument, frame))
    for keyword in node.keywords:
        value = expressions.evaluate(m, keyword.value, frame)
        if keyword.arg is not None:
            arguments.kwargs[keyword.arg] = value
        else:
            _spread_keywords(m, arguments, value, frame.place(keyword.value))
    return arguments


def _spread_keywords(m: Machine, arguments: Arguments, value: Value, place: Place) -> None:
    if not isinstance(value, Mapping):
        arguments.more_kwargs = Unknown("** argument", change_of(value))
        return
    for key, part in indexing.read_all(m, value, place).values():
        if isinstance(key, Const) and isinstance(key.value, str):
            arguments.kwargs[key.value] = part
        else:
            arguments.more_kwargs = part


def call(
    m: Machine, function: Value, arguments: Arguments, node: ast.AST, frame: Frame, place: Place | None = None
) -> Value:
    """Call whatever `function` may be; alternatives are tried from the same state and joined."""
    m.spend()
    here = place or frame.place(node)
    if type(function) is not Union:
        return _call_one(m, function, arguments, here, frame)
    results: list[Value] = []
    outcomes: list[Snapshot] = []
    opened = captures.Alternatives(m)
    parts = [p for p in alternatives(function) if not is_none(p)][:FAN_OUT]
    for part in parts:
        m.callees = parts
        m.heap.open()
        results.append(_call_one(m, part, arguments, here, frame))
        outcomes.append(m.heap.undo())
        opened.next()
    opened.join()
    if outcomes:
        m.heap.merge(outcomes)
    return join_all(results)


def _call_one(m: Machine, function: Value, arguments: Arguments, place: Place, frame: Frame) -> Value:
    if type(function) is Function:
        m.count_resolved()
        return functions.call_function(m, function, arguments, place)
    if type(function) is Class:
        m.count_resolved()
        return instances.construct(m, function.info, arguments, place)
    if type(function) is External:
        return library.call_external(m, function, arguments, place, frame)
    if type(function) is Partial:
        merged = Arguments([*function.args, *arguments.args], {**function.kwargs, **arguments.kwargs})
        merged.more, merged.more_kwargs = arguments.more, arguments.more_kwargs
        return call(m, function.function, merged, place.node, frame, place)
    if type(function) is Obj:
        return call_object(m, function, arguments, place, frame)
    if type(function) is Unknown and function.typed == GRAPH_CONTEXT and _is_given_graph(arguments):
        return library.call_external(m, External("torch.cuda.graph"), arguments, place, frame)
    return opaque_call(m, function, arguments, place)


def _is_given_graph(arguments: Arguments) -> bool:
    return any(captures.graphs_in(value) for value in arguments.all())


def call_object(m: Machine, owner: Obj, arguments: Arguments, place: Place, frame: Frame) -> Value:
    """Call an instance: `__call__`, `forward` of a module, or the model of a library object."""
    if not isinstance(owner.cls, ClassInfo):
        return library.call_object(m, owner, arguments, place, frame)
    override = owner.fields.get("?forward")
    if override is not None:
        return call(m, override, arguments, place.node, frame, place)
    for name in ("__call__", "forward"):
        method = attributes.get(m, owner, name, place.node, frame)
        if method is owner:
            continue
        if name == "forward" and not isinstance(method, (Unknown, External)):
            m.emit(Called(place=place, what="module", target=owner, arguments=arguments.all()))
            nn.note_module(m, owner)
        if type(method) is not Unknown and not (type(method) is External and method.owner is owner):
            if name == "__call__":
                return call(m, method, arguments, place.node, frame, place)
            return hooks.around(
                m,
                owner,
                arguments,
                place,
                frame,
                partial(call, m, method, arguments, place.node, frame, place),
            )
    if module_containers.kind_of(owner) == "torch.nn.Sequential":
        return module_containers.run_in_order(
            Call(m, "torch.nn.Sequential", owner, arguments, place, frame), owner
        )
    if owner.cls.is_module:
        return library.call_object(m, Obj("torch.nn.Module", place), arguments, place, frame)
    return opaque_call(m, Unknown(f"`{owner.cls.name}` has no `__call__`"), arguments, place)


# Methods that give another object of the same kind on a device, whatever they are called on.
MOVES = ("cuda", "to")


def opaque_call(m: Machine, function: Value, arguments: Arguments, place: Place) -> Value:
    """A call that cannot be followed: counted; given tensors, it probably returns some."""
    reason = function.reason if type(function) is Unknown else "not callable here"
    name = getattr(getattr(place.node, "func", None), "attr", "")
    if not reason.startswith("argument"):
        lifetimes.note_escape(m, arguments.all())
    m.unresolved(place, reason or "the value is not known")
    streams.given_away(m, place, tuple(arguments.all()))
    parallel.note_transfer(m, name)
    _announce_unknown_reset(m, function, arguments, place)
    handed.called(m, name, arguments.args, place)
    given = [t for value in arguments.all() for t in tensors_in(value, 2)]
    ignored.note_touched(m, *given)
    if m.captures:
        with streams.not_followed(m):
            tensor_ops.note_use(m, given, place)
        if operations.in_place(name):
            streams.on_work(m, place)
    m.emit(Called(place=place, what="opaque", target=function, arguments=arguments.all()))
    step = library.compiled.unknown_step(m, place)
    if step is not None:
        return step
    change = max((change_of(v) for v in arguments.all()), default=Change.CONFIG)
    if not given:
        moved = name in MOVES
        typed = MOVED if moved else "numpy" if library.is_array_method(function) else ""
        made = Unknown("result of a call that could not be followed", change, typed)
        if moved:
            m.memo["moved at", made.serial] = place
        return made
    return tensor_ops.opaque_result(m, place)


def _announce_unknown_reset(m: Machine, function: Value, arguments: Arguments, place: Place) -> None:
    """`x.zero_grad()`: whatever `x` is, its gradients are cleared."""
    if getattr(getattr(place.node, "func", None), "attr", "") == "zero_grad":
        kept = arguments.kwargs.get("set_to_none")
        dropped = True if kept is None else bool(kept.value) if isinstance(kept, Const) else None
        storing.announce_gradients(m, "zero-grad", place, function, data=dropped)
