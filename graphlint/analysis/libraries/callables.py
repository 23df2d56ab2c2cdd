"""Library calls that make, pick or run callables: `operator`, `functools`, `types`, `itertools`."""

from __future__ import annotations

from graphlint.analysis import attributes, calls, elements, expressions, indexing, kinds
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import (
    Function,
    Obj,
    Partial,
    Sequence_,
    Unknown,
    Value,
    alternatives,
    join_all,
)
from graphlint.facts import nodes as ast


@model("operator.attrgetter", "operator.itemgetter", "operator.methodcaller")
def _getter(call: Call) -> Value:
    made = Obj(call.name, call.place)
    made.fields["given"] = Sequence_(call.args, "tuple")
    made.fields["arguments"] = Partial(Unknown(), tuple(call.args[1:]), dict(call.arguments.kwargs))
    return made


@model("operator.attrgetter.__call__")
def _get_attributes(call: Call) -> Value:
    return _each(call, lambda owner, name: _path(call, owner, name))


def _path(call: Call, owner: Value, name: Value) -> Value:
    for part in (attributes.host_string(name) or "").split("."):
        owner = attributes.get(call.m, owner, part, call.node, call.frame)
    return owner


@model("operator.itemgetter.__call__")
def _get_items(call: Call) -> Value:
    return _each(call, lambda owner, key: indexing.get_item(call.m, owner, key, call.node, call.frame))


def _each(call: Call, get: object) -> Value:
    assert callable(get)
    if not call.args:
        return Unknown(call.name)
    found = [get(call.args[0], key) for key in call.this.fields["given"].items]
    return found[0] if len(found) == 1 else Sequence_(found, "tuple")


@model("operator.methodcaller.__call__")
def _call_method(call: Call) -> Value:
    name = attributes.host_string(call.this.fields["given"].items[0])
    if name is None or not call.args:
        return Unknown(call.name)
    kept = call.this.fields["arguments"]
    method = attributes.get(call.m, call.args[0], name, call.node, call.frame)
    arguments = Arguments(list(kept.args), dict(kept.kwargs))
    return calls.call(call.m, method, arguments, call.node, call.frame, call.place)


@model("types.MethodType")
def _method_type(call: Call) -> Value:
    if len(call.args) < 2:
        return Unknown(call.name)
    function = call.args[0]
    return (
        function.bind(call.args[1])
        if isinstance(function, Function)
        else Partial(function, (call.args[1],), {})
    )


@model("functools.reduce")
def _reduce(call: Call) -> Value:
    if len(call.args) < 2:
        return Unknown(call.name)
    values = [*call.args[2:3], *elements.all_elements(call.m, call.args[1])]
    result = values[0] if values else Unknown("empty")
    for value in values[1 : 1 + elements.UNROLLED]:
        result = calls.call(
            call.m, call.args[0], Arguments([result, value]), call.node, call.frame, call.place
        )
    return result


@model("itertools.starmap")
def _starmap(call: Call) -> Value:
    if len(call.args) < 2:
        return Unknown(call.name)
    known, rest = elements.of(call.m, call.args[1])
    made = []
    for row in [*known[: elements.UNROLLED], *([rest] if rest is not None else [])]:
        items, more = elements.of(call.m, row)
        arguments = Arguments(list(items))
        arguments.more = more
        made.append(calls.call(call.m, call.args[0], arguments, call.node, call.frame, call.place))
    return Sequence_((), "list", join_all(made)) if made else Sequence_()


# single dispatch


@model("functools.singledispatch", "functools.singledispatchmethod")
def _dispatch(call: Call) -> Value:
    made = Obj("dispatch", call.place)
    made.fields["wrapped"] = call.args[0] if call.args else Unknown("function")
    made.fields["registered"] = Sequence_()
    return made


@model("dispatch.register")
def _register(call: Call) -> Value:
    """`@f.register` on an annotated function, `@f.register(cls)`, `f.register(cls, function)`."""
    first = call.get(0, "cls")
    if isinstance(first, Function):
        return _add(call, call.this, _annotated_class(call, first), first)
    if len(call.args) > 1:
        return _add(call, call.this, first, call.args[1])
    made = Obj("dispatch-decorator", call.place)
    made.fields.update({"dispatch": call.this, "class": first})
    return made


@model("dispatch-decorator.__call__")
def _register_decorated(call: Call) -> Value:
    return _add(call, call.this.fields["dispatch"], call.this.fields["class"], call.args[0])


def _add(call: Call, dispatch: Obj, cls: Value | None, function: Value) -> Value:
    held = dispatch.fields["registered"]
    entry = Sequence_([cls or Unknown("class"), function], "tuple")
    call.m.heap.write(dispatch.fields, "registered", Sequence_((*held.items, entry)))
    return function


def _annotated_class(call: Call, function: Function) -> Value | None:
    parameters = [*function.node.args.posonlyargs, *function.node.args.args]
    for arg in parameters:
        if arg.annotation is not None:
            node: ast.expr = arg.annotation
            return expressions.evaluate(call.m, node, call.frame)
    return None


@model("dispatch.__call__")
def _call_dispatch(call: Call) -> Value:
    """The function registered for the class of the first argument, else the general one."""
    entries = [entry.items for entry in reversed(call.this.fields["registered"].items)]
    chosen: list[Value] = []
    for cls, function in entries:
        answers = {
            kinds.is_instance(part, kinds.flat_classes(cls))
            for part in alternatives(call.args[0] if call.args else Unknown())
        }
        if answers != {False}:
            chosen.append(function)
        if answers == {True}:
            break
    else:
        chosen.append(call.this.fields["wrapped"])
    return calls.call(call.m, join_all(chosen), call.arguments, call.node, call.frame, call.place)
