"""Builtins, and the methods of builtin containers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from graphlint.analysis import (
    attributes,
    calls,
    conditions,
    effects,
    expressions,
    functions,
    hints,
    indexing,
    lazies,
    loops,
    orders,
    parallel,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.heap import MISSING
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    External,
    Function,
    Host,
    Mapping,
    Obj,
    Partial,
    Sequence_,
    SliceValue,
    Tensor,
    Unknown,
    Value,
    alternatives,
    cells_of,
    change_of,
    identity_of,
    is_none,
    join,
    join_all,
    tensors_in,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@model("builtins.int", "builtins.float", "builtins.bool", "builtins.complex")
def _number(call: Call) -> Value:
    value = call.get(0, "x")
    kind = call.name.rpartition(".")[2]
    if value is None:
        return Const(0)
    for part in alternatives(value):
        if isinstance(part, Tensor) or (isinstance(part, Unknown) and part.typed == "tensor"):
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
        return Const(answer, cells_of(value)) if answer is not None else expressions.derived("bool", value)
    return expressions.derived(kind, value, kind=kind)


def _scalar(call: Call, name: str, value: Value, how: str) -> None:
    if isinstance(value, Tensor) and not value.on_device:
        return
    tensor_ops.effect(call.m, call.node, name, "scalar-read", (value,), call.frame, how=how)


@model("builtins.str", "builtins.repr", "builtins.format", "builtins.ascii", "pprint.pformat")
def _text(call: Call) -> Value:
    value = call.get(0, "object")
    if value is None:
        return Const("")
    tensor_ops.formatted(call.m, call.node, value, call.frame, call.name.rpartition(".")[2])
    if isinstance(value, Const) and isinstance(value.value, str):
        return value
    return expressions.derived("str", value, kind="str")


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
    made = loops.range_of(tuple(call.args))
    step = call.args[2] if len(call.args) > 2 else Const(1)
    if isinstance(step, Const) and isinstance(step.value, int):
        orders.note(call.m, made, "ascending" if step.value > 0 else "descending")
    return made


@model("builtins.enumerate")
def _enumerate(call: Call) -> Value:
    iterable = call.get(0, "iterable")
    return loops.enumerated(call.m, iterable or Unknown("iterable"), call.get(1, "start") or Const(0))


@model("builtins.zip", "itertools.product", "itertools.zip_longest")
def _zip(call: Call) -> Value:
    return loops.zipped(call.m, tuple(call.args))


@model("builtins.reversed")
def _reversed(call: Call) -> Value:
    value = call.get(0, "sequence")
    known, rest = loops.elements_of(call.m, value) if value is not None else ((), None)
    made = Sequence_(tuple(reversed(known)), "list", rest, change_of(value) if value else Change.CONFIG)
    orders.note(call.m, made, orders.opposite(call.m, value))
    return made


@model("builtins.sorted", "builtins.list.sort")
def _sorted(call: Call) -> Value:
    value = call.owner if call.name.endswith("sort") else call.get(0, "iterable")
    known, rest = loops.elements_of(call.m, value) if value is not None else ((), None)
    values = [*known, rest] if rest is not None else [*known]
    held = [t for v in values for t in tensors_in(v, 0)]
    if held and "key" not in call.arguments.kwargs:
        _scalar(call, "builtins.sorted", held[0], "sorted")
    _run_key(call, values)
    reverse = call.arguments.kwargs.get("reverse")
    down = isinstance(reverse, Const) and bool(reverse.value)
    known = _in_order(known, down) if rest is None else known
    target = value if call.name.endswith("sort") and isinstance(value, Sequence_) else None
    made = target or Sequence_(known, "list", rest, change_of(value) if value else Change.CONFIG)
    if target is not None:
        call.m.heap.write(target.fields, "items", tuple(known))
    unknown = reverse is not None and not isinstance(reverse, Const)
    keyed = "key" in call.arguments.kwargs
    order = "" if unknown or keyed else "descending" if down else "ascending"
    orders.note(call.m, made, order)
    return NONE if target is not None else made


def _run_key(call: Call, values: list[Value]) -> None:
    """`key=function` is called for the elements, and its results are compared on the host."""
    key = call.arguments.kwargs.get("key")
    if key is None or not values or is_none(key):
        return
    result = calls.call(call.m, key, Arguments([join_all(values)]), call.node, call.frame, call.place)
    for tensor in tensors_in(result, 1):
        _scalar(call, call.name, tensor, call.name.rpartition(".")[2])


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
            return Sequence_((), kind, Host("int", Change.SHAPE), Change.SHAPE)
    known, rest = loops.elements_of(call.m, value)
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
    call.m.note_made(made)
    for source in call.args:
        update(call, made, source)
    for name, value in call.arguments.kwargs.items():
        indexing.set_item(call.m, made, Const(name), value, None)
    return made


@model("collections.defaultdict")
def _defaultdict(call: Call) -> Value:
    made = Mapping(call.place, call.get(0, "default_factory"))
    call.m.note_made(made)
    return made


def update(call: Call, made: Mapping, source: Value) -> None:
    if isinstance(source, Mapping):
        for key, entry in source.fields.items():
            indexing.note_overwritten(call.m, made, entry[0], entry[1], call.place)
            call.m.heap.write(made.fields, key, entry)
            call.m.log_write(made.fields, key, entry[1], call.place)
        return
    for pair in loops.all_elements(call.m, source):
        if isinstance(pair, Sequence_) and len(pair.items) == 2:
            indexing.set_item(call.m, made, pair.items[0], pair.items[1], None)


@model("builtins.min", "builtins.max")
def _extreme(call: Call) -> Value:
    values = list(call.args)
    if len(values) == 1:
        values = loops.all_elements(call.m, values[0])
    tensors = [v for v in values if isinstance(v, Tensor)]
    _run_key(call, values)
    if tensors and (len(values) > 1 or call.args[:1] == values[:1]) and "key" not in call.arguments.kwargs:
        _scalar(call, call.name, tensors[0], call.name.rpartition(".")[2])
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, (int, float))]
    cells = frozenset().union(*(cells_of(v) for v in values)) if values else frozenset()
    if numbers and len(numbers) == len(values):
        return Const((min if call.name.endswith("min") else max)(numbers), cells)
    default = call.arguments.kwargs.get("default")
    if tensors:
        return join_all(tensors)
    made = expressions.derived(call.name, *values) if values else Unknown("empty")
    return join(made, default) if default is not None else made


@model("builtins.sum")
def _sum(call: Call) -> Value:
    value = call.get(0, "iterable")
    values = loops.all_elements(call.m, value) if value is not None else []
    tensors = [t for v in values for t in tensors_in(v, 0)]
    if tensors:
        tensor_ops.note_use(call.m, tensors, call.place)
        return call.m.tensor(tensor_ops.common_device(tensors), call.place, tensors[0].kind, tensors[0].ndim)
    return expressions.derived("sum", *values) if values else Const(0)


@model("builtins.any", "builtins.all")
def _quantified(call: Call) -> Value:
    value = call.get(0, "iterable")
    known, rest = loops.elements_of(call.m, value) if value is not None else ((), None)
    values = [*known, rest] if rest is not None else [*known]
    for part in values:
        for tensor in tensors_in(part, 0):
            _scalar(call, call.name, tensor, call.name.rpartition(".")[2])
            return tensor_ops.read_back(call.m, [tensor], "bool")
    answers = [conditions.truth(v) for v in values]
    if rest is None and None not in answers:
        return Const(any(answers) if call.name.endswith("any") else all(answers))
    return expressions.derived(call.name, *values, kind="bool") if values else Host("bool")


@model("builtins.abs", "builtins.round", "builtins.pow", "builtins.divmod", "builtins.hash", "builtins.ord")
def _arithmetic(call: Call) -> Value:
    if call.args and isinstance(call.args[0], Tensor):
        if call.name in ("builtins.hash", "builtins.ord"):
            return Host("int")
        return tensor_ops.fresh_like(call.m, call.args[0], call.place)
    return expressions.derived(call.name, *call.args) if call.args else Unknown("number")


@model("builtins.getattr")
def _getattr(call: Call) -> Value:
    owner, name = call.get(0, "o"), call.text(1, "name")
    if owner is None or not name:
        return Unknown(
            "getattr with a computed name", change_of(owner) if owner is not None else Change.CONFIG
        )
    value = attributes.get(call.m, owner, name, call.node, call.frame)
    default = call.get(2, "default")
    if default is not None and isinstance(owner, Obj) and name not in owner.fields:
        if _is_lacking(call, owner, name, value):
            lazies.note_absent(call.m, owner.fields, name)
            return default
    if default is not None and isinstance(value, Unknown):
        return join(value, default) if isinstance(owner, (Unknown, Obj)) else default
    if default is not None and isinstance(value, External) and isinstance(owner, Obj):
        return join(value, default)
    return value


def _is_lacking(call: Call, owner: Value, name: str, value: Value) -> bool:
    """Whether an attribute that was looked up certainly does not exist."""
    return (
        isinstance(value, Unknown)
        and isinstance(owner, Obj)
        and isinstance(owner.cls, ClassInfo)
        and not owner.cls.unknown_bases
        and owner.cls.find("__getattr__") is None
        and owner.cls.find(name) is None
        and attributes.class_attribute(call.m, owner.cls, name) is None
    )


@model("builtins.hasattr")
def _hasattr(call: Call) -> Value:
    owner, name = call.get(0, "obj"), call.text(1, "name")
    if isinstance(owner, Obj) and name and isinstance(owner.cls, ClassInfo):
        if name in owner.fields or owner.cls.find(name) is not None:
            return Const(True)
        value = attributes.get(call.m, owner, name, call.node, call.frame)
        if _is_lacking(call, owner, name, value):
            lazies.note_absent(call.m, owner.fields, name)
            return Const(False)
    if isinstance(owner, (Function, Tensor)):
        return Host("bool")
    return Host("bool", Change.CONFIG, ("hasattr", identity_of(owner), name) if owner is not None else None)


@model("builtins.setattr")
def _setattr(call: Call) -> Value:
    owner, name, value = call.get(0, "obj"), call.text(1, "name"), call.get(2, "value")
    if owner is not None and name and value is not None:
        attributes.put(call.m, owner, name, value, call.node, call.frame)
    return NONE


@model("builtins.isinstance", "builtins.issubclass")
def _isinstance(call: Call) -> Value:
    value, wanted = call.get(0, "obj"), call.get(1, "classinfo")
    if value is None or wanted is None:
        return Host("bool")
    if call.name.endswith("issubclass"):
        return Host("bool")
    answers = {is_instance(part, flat_classes(wanted)) for part in alternatives(value)}
    answer = answers.pop() if len(answers) == 1 else None
    return Const(answer) if answer is not None else Host("bool")


@model("torch.is_tensor")
def _is_tensor(call: Call) -> Value:
    value = call.get(0, "obj")
    answers = {is_instance(part, (External("torch.Tensor"),)) for part in alternatives(value or Unknown())}
    answer = answers.pop() if len(answers) == 1 else None
    return Const(answer) if answer is not None else Host("bool")


def flat_classes(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Sequence_):
        return tuple(part for item in value.elements() for part in flat_classes(item))
    return tuple(part for one in alternatives(value) for part in (one,))


def class_values(m: Machine, node: ast.expr, frame: Frame) -> tuple[Value, ...]:
    """The classes that the second argument of `isinstance` names."""
    return flat_classes(expressions.evaluate(m, node, frame))


def is_instance(value: Value, wanted: tuple[Value, ...]) -> bool | None:
    """Whether a value is an instance of one of the classes; None when not known."""
    answers = [_is_instance(value, cls) for cls in wanted]
    if True in answers:
        return True
    return False if None not in answers else None


def _is_instance(value: Value, cls: Value) -> bool | None:
    name = cls.name.rpartition(".")[2] if isinstance(cls, External) else ""
    if isinstance(value, Tensor):
        if name == "Parameter":
            return value.parameter or None
        return name in ("Tensor", "object") if isinstance(cls, External) else False
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Obj):
        return _object_is(value, cls, name)
    if isinstance(value, Host) and value.kind == "any":
        return None if name not in ("Tensor", "Module") else False
    return name in _BUILTIN_NAMES.get(_python_type(value), ()) if isinstance(cls, External) else False


_BUILTIN_NAMES = {
    "bool": ("bool", "int", "Number", "Hashable"),
    "int": ("int", "Number", "Integral", "Real", "Hashable"),
    "float": ("float", "Number", "Real", "Hashable"),
    "str": ("str", "Hashable", "Sequence"),
    "NoneType": ("NoneType",),
    "list": ("list", "Sequence", "Iterable", "Collection", "MutableSequence"),
    "tuple": ("tuple", "Sequence", "Iterable", "Collection", "Hashable"),
    "set": ("set", "Set", "Iterable", "Collection"),
    "dict": ("dict", "Mapping", "MutableMapping", "Iterable", "Collection"),
    "function": ("Callable", "FunctionType", "MethodType"),
    "type": ("type",),
}


def _python_type(value: Value) -> str:
    if isinstance(value, Const):
        return type(value.value).__name__
    if isinstance(value, Host):
        return value.kind
    if isinstance(value, Sequence_):
        return value.kind
    if isinstance(value, Mapping):
        return "dict"
    if isinstance(value, (Function, Partial, External)):
        return "function"
    return "type" if isinstance(value, Class) else ""


def _object_is(value: Obj, cls: Value, name: str) -> bool | None:
    if isinstance(value.cls, str):
        if value.cls in ("torch.nn.Module",):
            return True if name == "Module" else None
        same = isinstance(cls, External) and (
            cls.name == value.cls or cls.name.rpartition(".")[2] == value.cls.rpartition(".")[2]
        )
        if value.cls.startswith("torch.nn."):
            return same or name == "Module"
        return same if isinstance(cls, External) else False
    if isinstance(cls, Class):
        if cls.info in value.cls.mro():
            return True
        given = value.label == "given" and value.cls in cls.info.mro()
        return None if given or value.cls.unknown_bases else False
    if isinstance(cls, External):
        return any(base == cls.name or base.rpartition(".")[2] == name for base in value.cls.externals()) or (
            None
            if value.cls.unknown_bases
            else name == "object" or (name == "Module" and value.cls.is_module)
        )
    return None


def instance_of_tested(m: Machine, node: ast.Call, wanted: tuple[Value, ...], frame: Frame) -> Value | None:
    """What an unknown value is inside `if isinstance(value, T)`."""
    current = expressions.evaluate(m, node.args[0], frame)
    if not isinstance(current, (Unknown, Host)) or len(wanted) != 1:
        return None
    made = hints.of_type(m, wanted[0], change_of(current), frame.place(node))
    return None if isinstance(made, Unknown) else made


@model("builtins.type")
def _type(call: Call) -> Value:
    value = call.get(0, "object")
    if len(call.args) == 3:
        return _made_class(call)
    if isinstance(value, Obj) and isinstance(value.cls, ClassInfo):
        return Class(value.cls)
    return (
        External(f"builtins.{_python_type(value)}")
        if value is not None and _python_type(value)
        else Unknown("type")
    )


def _made_class(call: Call) -> Value:
    """`type(name, bases, members)`: a class without a text of its own."""
    name = call.text(0, "name", "type")
    node = ast.ClassDef(name=name, bases=[], keywords=[], body=[], decorator_list=[])
    info = ClassInfo(ast.copy_location(node, call.node), call.frame.module, None, name)
    for base in loops.elements_of(call.m, call.args[1])[0]:
        functions.add_base(info, base)
    if isinstance(call.args[2], Mapping):
        info.values.update({str(k.value): v for k, v in call.args[2].entries() if isinstance(k, Const)})
    return Class(info)


@model("builtins.callable")
def _callable(call: Call) -> Value:
    value = call.get(0, "obj")
    if isinstance(value, (Function, Class, External, Partial)):
        return Const(True)
    return Const(False) if isinstance(value, (Const, Tensor)) else Host("bool")


@model("builtins.map", "builtins.filter")
def _map(call: Call) -> Value:
    if len(call.args) < 2:
        return Unknown("map")
    element = loops.joined_elements(call.m, call.args[1])
    made = calls.call(call.m, call.args[0], Arguments([element]), call.node, call.frame)
    change = change_of(call.args[1])
    return Sequence_((), "list", made if call.name.endswith("map") else element, change)


@model("builtins.next")
def _next(call: Call) -> Value:
    value = call.get(0, "iterator")
    known, rest = loops.elements_of(call.m, value) if value is not None else ((), None)
    first = known[0] if known else rest if rest is not None else Unknown("next", Change.CHANGING)
    default = call.get(1, "default")
    return join(first, default) if default is not None and not known else first


@model("builtins.id")
def _id(call: Call) -> Value:
    value = call.get(0, "obj")
    identity = identity_of(value) if value is not None else None
    return Host("int", Change.CONFIG, ("id", identity)) if identity is not None else Host("int")


@model("builtins.slice")
def _slice(call: Call) -> Value:
    bounds = [*call.args, NONE, NONE, NONE][:3]
    if len(call.args) == 1:
        bounds = [NONE, call.args[0], NONE]
    return SliceValue(bounds[0], bounds[1], bounds[2])


@model("builtins.super")
def _super(call: Call) -> Value:
    return Obj("super", call.place)


@model("builtins.object.__setattr__")
def _object_setattr(call: Call) -> Value:
    return _setattr(call)


# containers


@model("builtins.list.append", "builtins.set.add", "builtins.list.appendleft")
def _append(call: Call) -> Value:
    if isinstance(call.owner, Sequence_) and call.args:
        indexing.extend(call.m, call.owner, (call.args[0],), None, call.node, call.frame)
    return NONE


@model("builtins.list.extend", "builtins.set.update")
def _extend(call: Call) -> Value:
    if isinstance(call.owner, Sequence_) and call.args:
        known, rest = loops.elements_of(call.m, call.args[0])
        indexing.extend(call.m, call.owner, known, rest, call.node, call.frame)
    return NONE


@model("builtins.list.insert")
def _insert(call: Call) -> Value:
    if isinstance(call.owner, Sequence_) and len(call.args) > 1:
        indexing.extend(call.m, call.owner, (call.args[1],), None, call.node, call.frame)
    return NONE


@model("builtins.list.pop", "builtins.set.pop", "builtins.list.popleft")
def _pop(call: Call) -> Value:
    owner = call.owner
    if not isinstance(owner, Sequence_):
        return Unknown("pop")
    if owner.items and owner.rest is None:
        last = owner.items[-1] if call.name.endswith("pop") and not call.args else owner.items[0]
        left = owner.items[:-1] if last is owner.items[-1] else owner.items[1:]
        call.m.heap.write(owner.fields, "items", left)
        return call.m.refresh(last, call.place)
    return loops.joined_elements(call.m, owner)


@model("builtins.list.clear", "builtins.set.clear")
def _clear(call: Call) -> Value:
    if isinstance(call.owner, Sequence_):
        call.m.heap.write(call.owner.fields, "items", ())
        call.m.heap.write(call.owner.fields, "rest", None)
    return NONE


@model("builtins.list.copy", "builtins.set.copy", "builtins.set.union", "builtins.set.intersection")
def _copy(call: Call) -> Value:
    owner = call.owner
    if isinstance(owner, Sequence_):
        made = Sequence_(owner.items, owner.kind, owner.rest, owner.change)
        orders.note(call.m, made, orders.of(call.m, owner))
        return made
    return Unknown("copy")


@model("builtins.list.index", "builtins.list.count")
def _index(call: Call) -> Value:
    return expressions.derived(call.name, *call.args, kind="int") if call.args else Host("int")


@model("builtins.list.reverse")
def _reverse(call: Call) -> Value:
    owner = call.owner
    if isinstance(owner, Sequence_):
        order = orders.opposite(call.m, owner)
        call.m.heap.write(owner.fields, "items", tuple(reversed(owner.items)))
        orders.note(call.m, owner, order)
    return NONE


@model("builtins.dict.get", "builtins.dict.pop", "builtins.dict.setdefault")
def _dict_get(call: Call) -> Value:
    owner, key = call.owner, call.get(0, "key")
    if not isinstance(owner, Mapping) or key is None:
        return Unknown("get")
    default = call.get(1, "default") or NONE
    found = conditions.contains(owner, key)
    if found is False:
        lazies.note_absent(call.m, owner.fields, identity_of(key))
        if call.name.endswith("setdefault"):
            indexing.set_item(call.m, owner, key, default, call.place)
        return default
    value = indexing.get_item(call.m, owner, key, call.node, call.frame)
    if call.name.endswith("pop") and identity_of(key) in owner.fields:
        call.m.heap.write(owner.fields, identity_of(key), MISSING)
    return value if found else join(value, default)


@model("builtins.dict.keys", "builtins.dict.values", "builtins.dict.items")
def _dict_parts(call: Call) -> Value:
    if not isinstance(call.owner, Mapping):
        return Unknown("dict")
    if not call.name.endswith("keys"):
        indexing.read_all(call.m, call.owner, call.place)
    entries = [(k, call.m.refresh(v, call.place)) for k, v in call.owner.entries()]
    known = [e for key, e in zip(call.owner.fields, entries, strict=False) if key != Mapping.REST]
    rest = call.owner.fields.get(Mapping.REST)
    part = call.name.rpartition(".")[2]
    return Sequence_(
        [_entry_part(part, *e) for e in known], "list", _entry_part(part, *rest) if rest is not None else None
    )


def _entry_part(part: str, key: Value, value: Value) -> Value:
    if part == "keys":
        return key
    return value if part == "values" else Sequence_([key, value], "tuple")


@model("builtins.dict.update")
def _dict_update(call: Call) -> Value:
    if isinstance(call.owner, Mapping):
        for source in call.args:
            update(call, call.owner, source)
        for name, value in call.arguments.kwargs.items():
            indexing.set_item(call.m, call.owner, Const(name), value, call.place)
    return NONE


@model("builtins.dict.clear")
def _dict_clear(call: Call) -> Value:
    if isinstance(call.owner, Mapping):
        for key in list(call.owner.fields):
            call.m.heap.write(call.owner.fields, key, MISSING)
    return NONE


@model("builtins.dict.copy")
def _dict_copy(call: Call) -> Value:
    made = Mapping(call.place)
    if isinstance(call.owner, Mapping):
        made.fields.update(call.owner.fields)
    return made


@model("builtins.dict.fromkeys")
def _fromkeys(call: Call) -> Value:
    made = Mapping(call.place)
    value = call.get(1, "value") or NONE
    for key in loops.all_elements(call.m, call.args[0]) if call.args else ():
        indexing.set_item(call.m, made, key, value, None)
    return made


@model(
    "builtins.open", "builtins.vars", "builtins.globals", "builtins.locals", "builtins.dir", "builtins.input"
)
def _opaque(call: Call) -> Value:
    return Unknown(call.name)


@model("builtins.staticmethod")
def _static(call: Call) -> Value:
    return Partial(call.args[0], (), {}) if call.args else Unknown(call.name)


@model("builtins.classmethod")
def _classmethod(call: Call) -> Value:
    return call.args[0] if call.args else Unknown(call.name)


@model("builtins.property", "functools.cached_property")
def _property(call: Call) -> Value:
    made = Obj("builtins.property", call.place)
    made.fields["getter"] = call.get(0, "fget") or Unknown("property")
    return made
