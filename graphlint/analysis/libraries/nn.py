"""`torch.nn`: modules, parameters, containers of modules, and what calling them means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import (
    attributes,
    calls,
    conditions,
    freed_weights,
    gradients,
    rows,
    specialised,
    storing,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries import autograd, compiled, copies, hooks, modes, module_containers
from graphlint.analysis.libraries.registry import MODELS, Call, Model, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.symbols import unique
from graphlint.analysis.values import (
    MODE,
    NONE,
    TRUE,
    Change,
    Const,
    External,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    is_none,
    join_all,
)
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


# How deep the parameters of a module are looked for, and how deep modules are made that nobody has used yet.
LEVELS = 6
LEVELS_MADE = 3
MOST_MODULES = 40
# How many parameters stand for all of a module.
MOST_PARAMETERS = 4

AVERAGED = "torch.nn.AveragedModel"  # the public name of that of `torch.optim.swa_utils`


def is_module_class(dotted: str) -> bool:
    """Whether a dotted name is a class of `torch.nn`."""
    last = dotted.rpartition(".")[2]
    return dotted.startswith("torch.nn.") and last[:1].isupper() and dotted.count(".") <= 4


def make_module(call: Call) -> Value:
    """Construct a library module: its children are kept, its parameters made when asked for."""
    made = Obj(call.name, call.place)
    if call.name == "torch.nn.Parameter":
        return _parameter(call)
    freed_weights.note_made(call.m, made)
    kind = module_containers.kind_of(made)
    if kind is not None:
        module_containers.fill(call, made, kind)
    elif call.name.endswith(("DataParallel", "DistributedDataParallel")):
        module = call.get(0, "module")
        made.fields["module"] = module if module is not None else Unknown("module")
        call.m.emit(Called(place=call.place, what="ddp", target=made, data=list(call.m.streams)))
    elif call.name == AVERAGED:
        made.fields["module"] = copies.deep_copy(
            call.m, call.get(0, "model") or Unknown("module"), call.place
        )
    elif call.name.rpartition(".")[2].startswith("BatchNorm"):
        made.fields["?momentum"] = call.get(2, "momentum") or Host("float")
    made.fields["device"] = call.get(1 if call.name == AVERAGED else 99, "device") or NONE
    return made


def _parameter(call: Call) -> Value:
    data = call.get(0, "data")
    for tensor in tensors_in(data, 0) if data is not None else ():
        made = tensor.alias(ndim=tensor.ndim)
        made.parameter = True
        made.storage.owner = "parameter"
        if made.storage.device == "cpu":
            made.storage.device = None
        return made
    made = Tensor(call.m.storage(None, call.place), "float", parameter=True)
    made.storage.owner = "parameter"
    return made


@model("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer")
def _make_parameter(call: Call) -> Value:
    return _parameter(call)


# attributes


def attribute(m: Machine, owner: Obj, name: str, place: Place) -> Value | None:
    """An attribute that `nn.Module` or a library module has."""
    if name in operations.mapped("rank_of_parameter") and isinstance(owner.cls, str):
        return _own_parameter(m, owner, name, place)
    if name in operations.mapped("rank_of_buffer") and isinstance(owner.cls, str):
        return _own_parameter(m, owner, name, place, kind="buffer")
    if name == "training":
        return modes.mode_of(m, owner, place)
    if name in operations.listed("module_methods"):
        return External(f"torch.nn.Module.{name}", owner)
    if isinstance(owner.cls, str) and owner.cls != "torch.nn.Module":
        return _fact(m, owner, name)
    if isinstance(owner.cls, str) and name not in operations.listed("module_methods"):
        key = ("attribute", owner.serial, name)
        value = m.memo.setdefault(key, Unknown(f"attribute `{name}` of a module nobody constructs"))
        return value if isinstance(value, Value) else None
    return None


def _own_parameter(m: Machine, owner: Obj, name: str, place: Place, kind: str = "parameter") -> Value:
    """A parameter, or a buffer, that a library module has made itself."""
    if name not in owner.fields:
        with m.before_everything():
            made = m.tensor(None, owner.site or place, "float", operations.mapped(f"rank_of_{kind}")[name])
        made.parameter = kind == "parameter"
        made.storage.owner = kind
        with m.heap.aside():
            owner.fields[name] = made
    return attributes.read_field(m, owner, name, place)


def _fact(m: Machine, owner: Obj, name: str) -> Value:
    if name in operations.listed("module_numbers"):
        return Host("int", Change.CONFIG, ("module", owner.serial, name))
    if name == "module" and "module" in owner.fields:
        found = owner.fields["module"]
        return found if isinstance(found, Value) else Unknown("module")
    return External(f"{owner.cls}.{name}", owner)


@model("torch.nn.Module.__getattr__")
def _getattr(call: Call) -> Value:
    """`super().__getattr__(name)`: a parameter, buffer or child, else it raises."""
    name = call.text(0, "name")
    if type(call.owner) is Obj and name in call.owner.fields:
        return attributes.read_field(call.m, call.owner, name, call.place)
    if name:
        call.m.frame.reachable = False
    return Unknown(f"attribute `{name}`")


# Library classes that programs derive from and whose methods have models.
CUDA_BASES = frozenset({"torch.cuda.graph", "torch.cuda.CUDAGraph"})


# calling


def call_module(call: Call) -> Value:
    """Call a library module: containers call their children, others compute a tensor."""
    owner, m = call.this, call.m
    return hooks.around(m, owner, call.arguments, call.place, call.frame, lambda: _forward(call, owner))


def _forward(call: Call, owner: Obj) -> Value:
    m = call.m
    assert isinstance(owner.cls, str)
    last = owner.cls.rpartition(".")[2]
    override = owner.fields.get("?forward")
    if override is not None:
        return calls.call(m, override, call.arguments, call.node, call.frame, call.place)
    if owner.cls == "torch.nn.Sequential":
        return module_containers.run_in_order(call, owner)
    if last in ("DataParallel", "DistributedDataParallel"):
        m.emit(Called(place=call.place, what="ddp-call", target=owner, data=m.repetitions()))
        note_module(m, owner)
        return calls.call(m, owner.fields["module"], call.arguments, call.node, call.frame, call.place)
    if owner.cls == AVERAGED:
        return calls.call(m, owner.fields["module"], call.arguments, call.node, call.frame, call.place)
    values = [tensor_ops.as_operand(m, value) for value in call.arguments.all()]
    given = [t for value in values for t in tensors_in(value, 2)]
    weights = _weights_read(m, owner, call.place) if m.captures else []
    tensor_ops.note_use(m, [*given, *weights], call.place)
    freed_weights.note_read(m, owner, weights)
    m.emit(Called(place=call.place, what="module", target=owner, arguments=call.arguments.all()))
    if last.startswith("Conv") and specialised.tries_algorithms(m, call.frame.module):
        _benchmark(call, owner)
    note_module(m, owner)
    modes.note(m, owner, call.place, call.frame)
    if "?momentum" in owner.fields:
        _count_batches(call, owner, given)
    if owner.cls == "torch.nn.Module":
        return _opaque(call, given)
    device = tensor_ops.common_device(given) if given else None
    made = m.tensor(device, call.place, "float", given[0].ndim if given and last == "Linear" else None)
    if gradients.enabled(m):
        gradients.note_made(m, "", [*given, *own_weights(m, owner, call.place)], made)
    rows.note_made(m, given, made)
    if last in operations.listed("modules_returning_tuples"):
        return Sequence_((), "tuple", made)
    return made


def _benchmark(call: Call, owner: Obj) -> None:
    """cuDNN tries its algorithms for every size that it has not met."""
    m, shapes = call.m, specialised.of_tensors(call.arguments)
    event = Called(place=call.place, what="benchmark", target=owner, arguments=call.arguments.all())
    event.data = {"other": specialised.is_new(m, owner, shapes, sizes_adapt=False)}
    m.emit(event)
    if not m.captures:
        specialised.note_run(m, owner, shapes)


def _count_batches(call: Call, owner: Obj, given: list[Tensor]) -> None:
    """Without momentum a batch norm that trains divides by the number of batches, which it reads."""
    if is_none(owner.fields["?momentum"]) and conditions.truth(owner.fields.get(MODE, TRUE)) is not False:
        name = f"{owner.cls}.forward"
        tensor_ops.effect(call.m, call.node, name, "scalar-read", tuple(given), call.frame)


def note_module(m: Machine, owner: Obj) -> None:
    """Remember that captured code runs a module."""
    if m.capture is not None:
        m.capture.facts.setdefault("modules", {})[owner.serial] = owner


def trained_parameters(m: Machine, place: Place) -> list[Tensor]:
    """The parameters of every module that the open capture has run so far."""
    called = m.capture.facts.get("modules", {}) if m.capture is not None else {}
    return list(dict.fromkeys(t for owner in called.values() for t in parameters_of(m, owner, place)))


def _weights_read(m: Machine, owner: Obj, place: Place) -> list[Tensor]:
    """The weights that calling a library module, or one that nobody constructs, reads."""
    if owner.cls == "torch.nn.Module":
        return [_stand_in(m, owner.serial, place)]
    return [*own_weights(m, owner, place), *_own_buffers(m, owner, place)]


def _own_buffers(m: Machine, owner: Obj, place: Place) -> list[Tensor]:
    """The statistics that a batch norm holds."""
    if not str(owner.cls).rpartition(".")[2].startswith(operations.beginnings("with_statistics")):
        return []
    names = operations.mapped("rank_of_buffer")
    held = (_own_parameter(m, owner, name, place, kind="buffer") for name in names)
    return [each for each in held if type(each) is Tensor]


def own_weights(m: Machine, owner: Obj, place: Place) -> list[Tensor]:
    """The parameters that a library module itself holds."""
    last = str(owner.cls).rpartition(".")[2]
    names = ("weight",) if last.startswith("Embedding") else ("weight", "bias")
    if not last.startswith(operations.beginnings("weighted_modules")) and not last.endswith("Norm"):
        return []
    return [t for name in names if isinstance(t := _own_parameter(m, owner, name, place), Tensor)]


def _opaque(call: Call, given: list[Tensor]) -> Value:
    """A module nobody constructs: it returns tensors, perhaps several."""
    m = call.m
    m.unresolved(call.place, "a module that nobody in the project constructs")
    step = compiled.unknown_step(m, call.place)
    if step is not None:
        return step
    return tensor_ops.opaque_result(m, call.place)


# methods


def method(call: Call) -> Value | None:
    """A method of a library module by its own name; None when it is not one of `nn.Module`'s."""
    name = call.name.rpartition(".")[2]
    found = MODELS.get(f"torch.nn.Module.{name}") if name in operations.listed("module_methods") else None
    return found(call) if found is not None else None


def _plain_method(call: Call) -> Value:
    return call.owner if isinstance(call.owner, Value) else NONE


def _init(call: Call) -> Value:
    kind = module_containers.kind_of(call.owner) if type(call.owner) is Obj else None
    if kind is not None and type(call.owner) is Obj:
        module_containers.fill(call, call.owner, kind)
    return NONE


def _zero_grad(call: Call) -> Value:
    touched = parameters_of(call.m, call.owner or NONE, call.place)
    announce_zero_grad(call, tuple(touched))
    return NONE


def announce_zero_grad(call: Call, touched: tuple[Value, ...]) -> None:
    """Gradients are cleared: `data` says whether they are dropped, None when that is not known."""
    given = call.get(0, "set_to_none")
    dropped = None if given is not None and type(given) is not Const else call.flag(0, "set_to_none")
    data = dropped is not False if given is None or type(given) is Const else None
    target = call.owner or NONE
    storing.announce_gradients(call.m, "zero-grad", call.place, target, *touched, data=data)
    if data is not False:
        gradients.note_replaced(call.m, dropped=True)


def _add_module(call: Call) -> Value:
    name, value = call.text(0, "name"), call.get(1, "module")
    if type(call.owner) is Obj and name and value is not None:
        storing.stored(call.m, call.owner, call.owner.fields, name, value, call.place)
    return NONE


def _register_buffer(call: Call) -> Value:
    name, value = call.text(0, "name"), call.get(1, "tensor")
    if type(call.owner) is Obj and name and value is not None:
        for tensor in tensors_in(value, 0):
            tensor.storage.owner = tensor.storage.owner or "buffer"
            if tensor.storage.device == "cpu":
                tensor.storage.device = None
        storing.stored(call.m, call.owner, call.owner.fields, name, value, call.place)
    return NONE


def parameters_of(m: Machine, owner: Value, place: Place) -> list[Tensor]:
    """The parameters found on a module and its children."""
    return list(dict.fromkeys(found for _, found in _held_parameters(m, owner, place, LEVELS, set())))


def _held_parameters(
    m: Machine, owner: Value, place: Place, depth: int, met: set[int]
) -> Iterator[tuple[Obj, Tensor]]:
    """The parameters of a module, each with what holds it; deep down nothing is made that is not there."""
    if type(owner) is not Obj or owner.serial in met or len(met) > MOST_MODULES:
        return
    met.add(owner.serial)
    if "?pending" in owner.fields:
        if depth < LEVELS - LEVELS_MADE:
            return
        attributes.get(m, owner, "training", place.node, m.frame)
    found = [v for v in owner.fields.values() if type(v) is Tensor and v.parameter]
    if isinstance(owner.cls, str):
        found += own_weights(m, owner, place)
    if owner.cls == "torch.nn.Module":
        found.append(_stand_in(m, owner.serial, place))
    yield from ((owner, each) for each in found)
    below = depth if module_containers.kind_of(owner) else depth - 1
    for child in module_containers.modules_in(owner) if depth else ():
        yield from _held_parameters(m, child, place, below, met)


def _stand_in(m: Machine, serial: int, place: Place) -> Tensor:
    """One parameter that stands for those of a module nobody constructs."""
    made = m.memo.get(("parameter", serial))
    if type(made) is not Tensor:
        with m.before_everything():
            made = m.memo[("parameter", serial)] = m.tensor(None, place, "float")
        made.parameter = True
        made.storage.owner = "parameter"
    return made


def _parameters(call: Call) -> Value:
    held = list(_held_parameters(call.m, call.owner or NONE, call.place, LEVELS, set()))
    named = call.name.endswith(("named_parameters", "named_buffers"))
    items: list[Value] = [*_representatives(call.m, held)]
    if not items:
        serial = call.owner.serial if type(call.owner) is Obj else id(call.owner)
        items = [_stand_in(call.m, serial, call.place)]
    if named:
        items = [Sequence_([_name_of(item), item], "tuple") for item in items]
    more = items[0] if len(items) == 1 else None  # the one stands for all of a module that is not seen
    return Sequence_(items, "list", more)


def _representatives(m: Machine, held: Sequence[tuple[Obj, Tensor]]) -> list[Tensor]:
    """A few parameters that stand for all: those that graphs read first, then one of each kind of module."""
    read = {storage for capture in m.finished for storage in capture.storages}
    kinds: dict[object, Tensor] = {}
    for owner, tensor in sorted(held, key=lambda each: each[1].storage not in read):
        kinds.setdefault(owner.cls if isinstance(owner.cls, str) else id(owner.cls), tensor)
    every = dict.fromkeys([*kinds.values(), *(tensor for _, tensor in held)])
    return list(every)[:MOST_PARAMETERS]


def _name_of(value: Value) -> Host:
    """The name that a module has a parameter under: it is not worked out, but known again."""
    return Host("str", Change.CONFIG, _symbol_of_name(value) if type(value) is Tensor else None)


def _symbol_of_name(tensor: Tensor) -> object:
    return ("name of parameter", tensor.storage.serial)


def named_by(owner: Value, name: Value | None) -> str:
    """The field of a module that a name is of which `named_parameters` has given; empty for another one."""
    held = owner.fields.items() if type(owner) is Obj and type(name) is Host else ()
    own = ((key, _symbol_of_name(value)) for key, value in held if type(value) is Tensor)
    return next((str(key) for key, symbol in own if unique(symbol) == getattr(name, "symbol", None)), "")


def _children_of(call: Call) -> Value:
    owner = call.owner
    deep = call.name.endswith("modules")
    found: list[Value] = []
    if type(owner) is Obj:
        found += module_containers.all_modules_in(owner) if deep else module_containers.modules_in(owner)[:4]
    if not found:
        found = [Obj("torch.nn.Module", call.place)]
    if "named" in call.name:
        fields = call.owner.fields.items() if type(call.owner) is Obj else ()
        names = {id(value): Const(name) for name, value in fields if isinstance(name, str)}
        found = [Sequence_([names.get(id(item), Host("str")), item], "tuple") for item in found]
    return Sequence_(found, "modules" if deep else "list")


def _state_dict(call: Call) -> Value:
    """The weights by name: what is known of a module's own parameters is known of what is found there."""
    made = Mapping(call.place)
    with call.m.before_everything():
        other = call.m.tensor(None, call.place)
    found = parameters_of(call.m, call.owner or NONE, call.place)
    values = [tensor.alias(ndim=tensor.ndim) for tensor in found] or [other]
    made.fields[Mapping.REST] = (Host("str"), join_all(values))
    return made


def _apply(call: Call) -> Value:
    """`module.apply(function)`: with each module within it, the inner ones first, and then with itself."""
    if call.args and type(call.owner) is Obj:
        for module in reversed(module_containers.all_modules_in(call.owner)):
            calls.call(call.m, call.args[0], Arguments([module]), call.node, call.frame)
    return call.owner or NONE


def _compile(call: Call) -> Value:
    return NONE


def _state(call: Call) -> Value:
    """`get_submodule("a.b")` and relatives: the attribute at the end of the path."""
    path, value = call.text(0, "target"), call.owner or NONE
    for part in path.split(".") if path else ():
        value = attributes.get(call.m, value, part, call.node, call.frame)
    return value if path else Unknown("submodule")


def _requires_grad(call: Call) -> Value:
    if type(call.owner) is Obj:
        parameters = parameters_of(call.m, call.owner, call.place)
        storing.note_gradients_wanted(call.m, parameters, call.get(0, "requires_grad"), call.place)
    return call.owner or NONE


def _backward_hook(call: Call) -> Value:
    return autograd.module_hook(call)  # asked for late: the two modules import each other


METHOD_MODELS: dict[str, Model] = {
    "train": modes.switch,
    "eval": modes.switch,
    "__init__": _init,
    "zero_grad": _zero_grad,
    "requires_grad_": _requires_grad,
    "register_buffer": _register_buffer,
    "register_parameter": _register_buffer,
    "parameters": _parameters,
    "named_parameters": _parameters,
    "buffers": _parameters,
    "named_buffers": _parameters,
    "modules": _children_of,
    "named_modules": _children_of,
    "children": _children_of,
    "named_children": _children_of,
    "register_forward_hook": hooks.register,
    "register_forward_pre_hook": hooks.register,
    "register_full_backward_hook": _backward_hook,
    "register_full_backward_pre_hook": _backward_hook,
    "add_module": _add_module,
    "register_module": _add_module,
    "state_dict": _state_dict,
    "apply": _apply,
    "compile": _compile,
    "get_submodule": _state,
    "get_parameter": _state,
}
for _name in operations.listed("module_methods"):
    MODELS.setdefault(f"torch.nn.Module.{_name}", METHOD_MODELS.get(_name, _plain_method))
