"""State that is reached from anywhere: context variables, thread-local objects, namespaces, named tuples."""

from __future__ import annotations

from graphlint.analysis import attributes, calls, elements, storing
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Const, Mapping, Obj, Sequence_, Unknown, Value


@model("contextvars.ContextVar")
def _context_variable(call: Call) -> Value:
    made = Obj("contextvars.ContextVar", call.place)
    default = call.arguments.kwargs.get("default")
    if default is not None:
        made.fields["value"] = default
    return made


@model("contextvars.ContextVar.set")
def _set(call: Call) -> Value:
    value = call.get(0, "value")
    token = Obj("contextvars.Token", call.place)
    if value is not None:
        token.fields["old"] = call.this.fields.get("value", NONE)
        storing.stored(call.m, call.this, call.this.fields, "value", value, call.place)
    return token


@model("contextvars.ContextVar.reset")
def _reset(call: Call) -> Value:
    token = call.get(0, "token")
    old = token.fields.get("old") if isinstance(token, Obj) else None
    if isinstance(old, Value):
        storing.stored(call.m, call.this, call.this.fields, "value", old, call.place)
    return NONE


@model("contextvars.ContextVar.get")
def _get(call: Call) -> Value:
    if "value" in call.this.fields:
        return attributes.read_field(call.m, call.this, "value", call.place)
    return call.get(0, "default") or Unknown("context variable")


@model("threading.local")
def _local(call: Call) -> Value:
    return Obj("threading.local", call.place)


@model("object.__dict__.update")
def _update_fields(call: Call) -> Value:
    """`self.__dict__.update(...)`: fields by name."""
    named = dict(call.arguments.kwargs)
    for source in call.args:
        for key, value in source.entries() if isinstance(source, Mapping) else ():
            if isinstance(key, Const) and isinstance(key.value, str):
                named[key.value] = value
    for name, value in named.items():
        if call.owner is not None:
            storing.put(call.m, call.owner, name, value, call.node, call.frame)
    return NONE


@model("collections.namedtuple")
def _namedtuple(call: Call) -> Value:
    """`namedtuple("Name", fields)`: a class of records that are also tuples."""
    made = Obj("namedtuple", call.place)
    fields = call.get(1, "field_names")
    if isinstance(fields, Const) and isinstance(fields.value, str):
        names: list[Value] = [Const(name) for name in fields.value.replace(",", " ").split()]
    else:
        names = list(elements.of(call.m, fields)[0]) if fields is not None else []
    made.fields["names"] = Sequence_(names, "tuple")
    return made


@model("namedtuple.__call__")
def _make_record(call: Call) -> Value:
    made = Obj("record", call.place)
    names = call.this.fields["names"]
    items: list[Value] = []
    for index, name in enumerate(names.items):
        text = name.value if isinstance(name, Const) else ""
        value = call.arguments.get(index, text) or Unknown(f"field `{text}`")
        made.fields[text] = value
        items.append(value)
    made.fields["elements"] = Sequence_(items, "tuple", call.arguments.more)
    return made


@model("typed-callable.__call__")
def _call_typed(call: Call) -> Value:
    """A callable that is passed in, with an annotation that says what it returns."""
    calls.opaque_call(call.m, Unknown("a callable that is passed in"), Arguments(call.args), call.place)
    value = call.this.fields["returns"]
    return value if isinstance(value, Value) else Unknown("result")
