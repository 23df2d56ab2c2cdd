"""Builtin functions on numbers, text and whatever can be iterated, and the constructors of containers."""

from __future__ import annotations

from graphlint.analysis import (
    arithmetic,
    calls,
    comprehensions,
    conditions,
    effects,
    elements,
    functions,
    host,
    item_writes,
    orders,
    parallel,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import SideEffect
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries import containers
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import cells_of, change_of, tensors_in
from graphlint.analysis.values import (
    MAX_ALTERNATIVES,
    NONE,
    Change,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    SliceValue,
    Tensor,
    Unknown,
    Value,
    alternatives,
    is_none,
    join,
    join_all,
)


@model("builtins.int", "builtins.float", "builtins.bool", "builtins.complex")
def _number(call: Call) -> Value:
    value = call.get(0, "x")
    kind = call.name.rpartition(".")[2]
    if value is None:
        return Const(0)
    for part in alternatives(value):
        if isinstance(part, Tensor) or (isinstance(part, Unknown) and part.typed == "tensor"):
            opaque = isinstance(part, Tensor) and part.storage.owner == "opaque"
            if kind != "int" or not opaque:  # a call that was not followed may give a number
                _scalar(call, f"Tensor.__{kind}__", part, kind)
            if isinstance(part, Tensor):
                return tensor_ops.read_back(call.m, [part], kind)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        number = value.value
        made = (
            int(number)
            if kind == "int" and abs(number) < 1e18
            else float(number)
            if kind == "float"
            else number
        )
        return Const(bool(number) if kind == "bool" else made, value.cells)
    if kind == "bool":
        answer = conditions.truth(value)
        if answer is not None:
            return Const(answer, cells_of(value))
    return arithmetic.derived(kind, value, kind=kind)


def _scalar(call: Call, name: str, value: Value, how: str) -> None:
    if isinstance(value, Tensor) and not value.on_device:
        return
    tensor_ops.effect(call.m, call.node, name, "scalar-read", (value,), call.frame, how=how)


def _compared(call: Call, name: str, value: Tensor) -> None:
    """Elements are compared on the host; what a call gave that was not followed may hold anything."""
    if value.storage.owner != "opaque":
        _scalar(call, name, value, name.rpartition(".")[2])


@model("builtins.str", "builtins.repr", "builtins.format", "builtins.ascii", "pprint.pformat")
def _text(call: Call) -> Value:
    value = call.get(0, "object")
    if value is None:
        return Const("")
    tensor_ops.formatted(call.m, call.node, value, call.frame, call.name.rpartition(".")[2])
    if isinstance(value, Const) and isinstance(value.value, str):
        return value
    return arithmetic.derived("str", value, kind="str")


@model("builtins.print", "pprint.pprint")
def _print(call: Call) -> Value:
    for value in call.arguments.all():
        tensor_ops.formatted(call.m, call.node, value, call.frame, "print")
    return NONE


@model("builtins.len")
def _len(call: Call) -> Value:
    value = call.get(0, "obj")
    cells = effects.cells_in(call.m, value) if value is not None else frozenset()
    if isinstance(value, Sequence_) and value.rest is None:
        return Const(len(value.items), cells)
    if isinstance(value, Tensor):
        return Host("int", Change.SHAPE, ("len", value.storage.serial))
    if isinstance(value, Obj) and isinstance(value.cls, ClassInfo) and value.cls.find("__len__"):
        return functions.call_method(call.m, value, "__len__", [])
    if value is None:
        return Unknown("len")
    return Host("int", change_of(value), ("len", identity_of(value)) if identity_of(value) else None, cells)


@model("builtins.range")
def _range(call: Call) -> Value:
    for value in call.args:
        for part in alternatives(value):
            if isinstance(part, Tensor):
                _scalar(call, "Tensor.__index__", part, "range")
        tensor_ops.host_use(call.m, call.node, value, "loop", call.frame)
    made = elements.range_of(tuple(call.args))
    step = call.args[2] if len(call.args) > 2 else Const(1)
    if isinstance(step, Const) and isinstance(step.value, int):
        orders.note(call.m, made, "ascending" if step.value > 0 else "descending")
    return made


@model("builtins.enumerate")
def _enumerate(call: Call) -> Value:
    iterable = call.get(0, "iterable")
    return elements.enumerated(call.m, iterable or Unknown("iterable"), call.get(1, "start") or Const(0))


@model("builtins.zip", "itertools.zip_longest")
def _zip(call: Call) -> Value:
    return elements.zipped(call.m, tuple(call.args))


@model("itertools.product")
def _product(call: Call) -> Value:
    repeat = call.arguments.kwargs.get("repeat", Const(1))
    times = repeat.value if isinstance(repeat, Const) and isinstance(repeat.value, int) else 1
    return elements.product(call.m, tuple(call.args) * min(times, MAX_ALTERNATIVES))


@model("builtins.reversed")
def _reversed(call: Call) -> Value:
    value = call.get(0, "sequence")
    known, rest = elements.of(call.m, value) if value is not None else ((), None)
    made = Sequence_(tuple(reversed(known)), "list", rest, change_of(value) if value else Change.CONFIG)
    made.length = value.length if isinstance(value, Sequence_) else None
    orders.note(call.m, made, orders.opposite(call.m, value))
    return made


@model("builtins.sorted", "builtins.list.sort")
def _sorted(call: Call) -> Value:
    value = call.owner if call.name.endswith("sort") else call.get(0, "iterable")
    known, rest = elements.of(call.m, value) if value is not None else ((), None)
    values = [*known, rest] if rest is not None else [*known]
    held = [t for v in values for t in tensors_in(v, 0)]
    if held and "key" not in call.arguments.kwargs:
        _compared(call, "builtins.sorted", held[0])
    _run_key(call, values)
    reverse = call.arguments.kwargs.get("reverse")
    down = isinstance(reverse, Const) and bool(reverse.value)
    known = _in_order(known, down) if rest is None else known
    target = value if call.name.endswith("sort") and isinstance(value, Sequence_) else None
    made = target or Sequence_(known, "list", rest, change_of(value) if value else Change.CONFIG)
    if target is not None:
        call.m.heap.write(target.fields, "items", tuple(known))
    order, part = orders.sorted_by(call.arguments.kwargs.get("key"), values)
    if reverse is not None and not isinstance(reverse, Const):
        order = ""
    orders.note(call.m, made, orders.reverse(order) if down else order, part)
    return NONE if target is not None else made


def _run_key(call: Call, values: list[Value]) -> None:
    """`key=function` is called for the elements, and its results are compared on the host."""
    key = call.arguments.kwargs.get("key")
    if key is None or not values or is_none(key):
        return
    result = calls.call(call.m, key, Arguments([join_all(values)]), call.node, call.frame, call.place)
    for tensor in tensors_in(result, 1):
        _compared(call, call.name, tensor)


def _in_order(known: tuple[Value, ...], down: bool) -> tuple[Value, ...]:
    numbers = [v.value for v in known if isinstance(v, Const) and isinstance(v.value, (int, float))]
    if len(numbers) != len(known):
        return known
    return tuple(sorted(known, key=lambda v: v.value, reverse=down))  # type: ignore[attr-defined]


@model(
    "builtins.list",
    "builtins.tuple",
    "builtins.set",
    "builtins.frozenset",
    "collections.deque",
)
def _sequence(call: Call) -> Value:
    kind = {"tuple": "tuple", "set": "set", "frozenset": "set"}.get(call.name.rpartition(".")[2], "list")
    value = call.get(0, "iterable")
    if value is None:
        return Sequence_((), kind, site=call.place)
    for part in alternatives(value):
        if isinstance(part, Obj) and part.cls == "torch.Size":
            if kind == "tuple":
                return part
            return Sequence_((), kind, Host("int", Change.SHAPE), Change.SHAPE)
    known, rest = elements.of(call.m, value)
    made = Sequence_(known, kind, rest, change_of(value), call.place)
    if kind != "set":
        orders.note(call.m, made, orders.of(call.m, value))
    return made


@model("builtins.iter")
def _iter(call: Call) -> Value:
    """An iterator; that of a data loader keeps the loader's threads alive."""
    value = call.get(0, "object")
    if not (isinstance(value, Obj) and value.cls == parallel.LOADER):
        return _sequence(call)
    made = Obj(parallel.LOADER_ITERATOR, call.place)
    made.fields.update({"loader": value, "elements": value.fields["elements"]})
    return made


@model(f"{parallel.LOADER_ITERATOR}.__next__")
def _next_batch(call: Call) -> Value:
    return Unknown("batch", Change.CHANGING)


@model("builtins.dict", "collections.OrderedDict", "weakref.WeakValueDictionary", "weakref.WeakKeyDictionary")
def _dict(call: Call) -> Value:
    made = Mapping(call.place)
    made.weak = call.name == "weakref.WeakValueDictionary"
    call.m.note_made(made)
    for source in call.args:
        containers.update(call, made, source)
    for name, value in call.arguments.kwargs.items():
        item_writes.set_item(call.m, made, Const(name), value, None)
    return made


@model("collections.defaultdict")
def _defaultdict(call: Call) -> Value:
    made = Mapping(call.place, call.get(0, "default_factory"))
    call.m.note_made(made)
    return made


@model("builtins.min", "builtins.max")
def _extreme(call: Call) -> Value:
    values, several = list(call.args), True
    if len(values) == 1:
        known, rest = elements.of(call.m, values[0])
        values, several = [*known, *([rest] if rest is not None else [])], len(known) > 1 or rest is not None
    tensors = [v for v in values if isinstance(v, Tensor)]
    _run_key(call, values)
    if tensors and several and "key" not in call.arguments.kwargs:
        _compared(call, call.name, tensors[0])
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, (int, float))]
    cells = frozenset().union(*(cells_of(v) for v in values)) if values else frozenset()
    if numbers and len(numbers) == len(values):
        return Const((min if call.name.endswith("min") else max)(numbers), cells)
    default = call.arguments.kwargs.get("default")
    if tensors:
        return join_all(tensors)
    made = _host_extreme(call, values) if values else Unknown("empty")
    return join(made, default) if default is not None else made


def _host_extreme(call: Call, values: list[Value]) -> Value:
    """The largest of unknown things is a host number where it is compared with one, or out of a list."""
    made = arithmetic.derived(call.name, *values)
    if not isinstance(made, Unknown) or not (len(call.args) == 1 or any(map(_is_number, values))):
        return made
    return Host("any", made.change)


def _is_number(value: Value) -> bool:
    return isinstance(value, Host) or (isinstance(value, Const) and type(value.value) in (int, float))


@model("builtins.sum")
def _sum(call: Call) -> Value:
    value = call.get(0, "iterable")
    values = elements.all_elements(call.m, value) if value is not None else []
    tensors = [t for v in values for t in tensors_in(v, 0)]
    if tensors:
        tensor_ops.note_use(call.m, tensors, call.place)
        return call.m.tensor(tensor_ops.common_device(tensors), call.place, tensors[0].kind, tensors[0].ndim)
    return arithmetic.derived("sum", *values) if values else Const(0)


@model("builtins.any", "builtins.all")
def _quantified(call: Call) -> Value:
    value = call.get(0, "iterable")
    known, rest = elements.of(call.m, value) if value is not None else ((), None)
    values = [*known, rest] if rest is not None else [*known]
    for part in values:
        for tensor in tensors_in(part, 0):
            _compared(call, call.name, tensor)
            return tensor_ops.read_back(call.m, [tensor], "bool")
    answers = [conditions.truth(v) for v in values]
    if rest is None and None not in answers:
        return Const(any(answers) if call.name.endswith("any") else all(answers))
    return arithmetic.derived(call.name, *values, kind="bool") if values else Host("bool")


@model(
    "builtins.abs",
    "builtins.round",
    "builtins.pow",
    "builtins.divmod",
    "builtins.hash",
    "builtins.ord",
)
def _arithmetic(call: Call) -> Value:
    if call.args and isinstance(call.args[0], Tensor):
        if call.name in ("builtins.hash", "builtins.ord"):
            return Host("int")
        return tensor_ops.fresh_like(call.m, call.args[0], call.place)
    return arithmetic.derived(call.name, *call.args) if call.args else Unknown("number")


@model("builtins.map", "builtins.filter")
def _map(call: Call) -> Value:
    if len(call.args) < 2:
        return Unknown("map")
    turns = comprehensions.turns(call.m, call.place, call.args[1], call.frame)
    pairs = [
        (element, calls.call(call.m, call.args[0], Arguments([element]), call.node, call.frame))
        for element in turns
    ]
    kept = [made if call.name.endswith("map") else element for element, made in pairs]
    return Sequence_((), "list", join_all(kept) if kept else None, change_of(call.args[1]))


def _announce_next(call: Call, iterator: Value) -> None:
    """An iterator from outside of the captured code moves on once, and all replays stay with its item."""
    m, capture = call.m, call.m.capture
    if capture is None or capture.compiled or not isinstance(iterator, (Unknown, Obj)):
        return
    if iterator.serial < capture.facts["born"] and change_of(iterator) is not Change.CONSTANT:
        m.emit(SideEffect(place=call.place, name="iterator", read=None, reason="iterator"))


@model("builtins.next")
def _next(call: Call) -> Value:
    value = call.get(0, "iterator")
    _announce_next(call, value or NONE)
    known, rest = elements.of(call.m, value) if value is not None else ((), None)
    first = known[0] if known else rest if rest is not None else Unknown("next", Change.CHANGING)
    default = call.get(1, "default")
    return join(first, default) if default is not None and not known else first


@model("builtins.slice")
def _slice(call: Call) -> Value:
    bounds = [*call.args, NONE, NONE, NONE][:3]
    if len(call.args) == 1:
        bounds = [NONE, call.args[0], NONE]
    return SliceValue(bounds[0], bounds[1], bounds[2])


@model(
    "builtins.open", "builtins.vars", "builtins.globals", "builtins.locals", "builtins.dir", "builtins.input"
)
def _opaque(call: Call) -> Value:
    return Unknown(call.name, typed=host.class_of_result(call.name))
