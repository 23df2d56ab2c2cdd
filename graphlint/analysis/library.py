"""Dispatch to the library models: calls, attributes and objects that live outside the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import (
    arrays,
    attributes,
    effects,
    frameworks,
    host,
    lifetimes,
    specialised,
    streams,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries import (
    ambient,
    builtin,
    callables,
    chance,
    compiled,
    containers,
    copies,
    cuda,
    cupy,
    custom_operators,
    driver,
    nn,
    objects,
    optim,
    optimizer_state,
    process_groups,
    queues,
    random_state,
    schedules,
    stdlib,
    streams_events,
    tensor_attributes,
    tensors,
    text,
    threads,
    triton,
    warp,
    weights,
)
from graphlint.analysis.libraries.registry import MODELS, Call
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.values import (
    FALSE,
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
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

__all__ = [
    "ambient",
    "builtin",
    "callables",
    "chance",
    "compiled",
    "containers",
    "copies",
    "cuda",
    "cupy",
    "driver",
    "nn",
    "objects",
    "optim",
    "process_groups",
    "queues",
    "random_state",
    "schedules",
    "stdlib",
    "streams_events",
    "text",
    "threads",
    "triton",
    "warp",
    "weights",
]


def call_external(m: Machine, function: External, arguments: Arguments, place: Place, frame: Frame) -> Value:
    """Call something outside the project by its dotted name."""
    role = frameworks.role_of_external(m, function.name)
    if role.guard or function.name in m.config.guards:
        return Const(bool(m.captures))
    if role.operator is not None:
        return custom_operators.register(m, role.operator, arguments, place)
    if (m.captures or m.warming) and role.assumed is not None:
        return Const(role.assumed)
    name = function.name if function.name in MODELS else operations.canonical(function.name)
    call = Call(m, name, function.owner, arguments, place, frame, function.name)
    if name.startswith("torch.distributed."):
        process_groups.note_collective(m, place)
    if m.effects and not m.captures:
        for value in arguments.all():
            effects.read_list(m, value)
    found = MODELS.get(name)
    if found is not None:
        m.count_resolved()
        return found(call)
    if name.startswith("Tensor.") or (type(function.owner) is Tensor and function.owner.library):
        m.count_resolved()
        return tensors.call_method(call)
    operation = operations.function(name)
    if operation is not None:
        m.count_resolved()
        made = tensors.call_function(call, operation)
        return _with_graph_option(call, operation) if operation.graph_option else made
    return _unmodelled(call)


def _with_graph_option(call: Call, operation: operations.Operation) -> Value:
    """An object that remembers whether it was built for graphs; `*args` and `**kwargs` may say so."""
    made = Obj(call.name, call.place)
    given = call.get(operation.graph_option_at or 0, operation.graph_option) or call.arguments.more_kwargs
    made.fields["graph-mode"] = given if given is not None else FALSE
    return made


def _unmodelled(call: Call) -> Value:
    root = call.name.split(".")[0]
    is_operator = call.name.startswith("torch.ops.")
    if is_operator and (result := custom_operators.call_operator(call)) is not None:
        call.m.count_resolved()
        return result
    if nn.is_module_class(call.name):
        call.m.count_resolved()
        return nn.make_module(call)
    owner = call.owner
    if type(owner) is Obj and isinstance(owner.cls, str):
        inherited = nn.method(call) if owner.cls.startswith("torch.nn.") else None
        if inherited is not None:
            return inherited
    if is_operator and not custom_operators.is_builtin(call.name):
        call.m.unresolved(call.place, "an operator without a Python body in the project")
    elif host.is_known(call.name):
        call.m.count_resolved()
    elif host.is_native(call.name):
        call.m.count_resolved()
        streams.given_away(call.m, call.place, tuple(call.arguments.all()))
    else:
        call.m.unresolved(call.place, f"`{call.name}` is outside the project")
        streams.given_away(call.m, call.place, tuple(call.arguments.all()))
    if root != "torch":
        lifetimes.note_escape(call.m, call.arguments.all())
        arrays.read(call.m, call.arguments.all(), call.place)
    given = [t for value in call.arguments.all() for t in tensors_in(value, 2)]
    for value in call.arguments.all():
        if given and not tensor_ops.any_tensor(value):
            tensor_ops.host_use(call.m, call.node, value, "argument", call.frame)
    if given and (root == "torch" or root not in operations.listed("host_libraries")):
        with streams.not_followed(call.m):
            tensor_ops.note_use(call.m, given, call.place)
        return tensor_ops.opaque_result(call.m, call.place)
    change = max((change_of(v) for v in call.arguments.all()), default=Change.CONFIG)
    if call.name.rpartition(".")[2][:1].isupper():
        return Obj(call.name, call.place)
    is_array = call.name in operations.listed("numpy_arrays") or _computes_array(call)
    typed = "numpy" if is_array else host.class_of_result(call.name)
    return Unknown(f"result of `{call.name}`", change, typed)


def _computes_array(call: Call) -> bool:
    """Whether a function of NumPy makes an array of an array: all but those that sum it up do."""
    last = call.name.rpartition(".")[2]
    if not call.name.startswith("numpy.") or (
        last in operations.listed("numpy_sums") and call.get(1, "axis") is None
    ):
        return False
    return any(isinstance(v, Unknown) and v.typed == "numpy" for v in call.arguments.all())


def array_method(owner: Unknown, name: str) -> str:
    """What a method of a NumPy array is typed as, when it gives an array again."""
    return "numpy method" if owner.typed == "numpy" and name not in operations.listed("numpy_sums") else ""


def is_array_method(function: Value) -> bool:
    """Whether calling this gives a NumPy array."""
    return isinstance(function, Unknown) and function.typed == "numpy method"


def call_object(m: Machine, owner: Obj, arguments: Arguments, place: Place, frame: Frame) -> Value:
    """Call an instance of a library class."""
    assert isinstance(owner.cls, str)
    call = Call(m, f"{owner.cls}.__call__", owner, arguments, place, frame)
    found = MODELS.get(call.name)
    if found is not None:
        m.count_resolved()
        return found(call)
    if owner.cls.startswith("torch.nn."):
        m.count_resolved()
        return nn.call_module(call)
    override = owner.fields.get("elements")
    m.unresolved(place, f"calling a `{owner.cls}`")
    m.emit(Called(place=place, what="opaque", target=owner, arguments=arguments.all()))
    given = [t for value in arguments.all() for t in tensors_in(value, 2)]
    for value in arguments.all():
        if given and not tensor_ops.any_tensor(value):
            tensor_ops.host_use(m, place.node, value, "argument", frame)
    if given and override is None:
        return tensor_ops.opaque_result(m, place)
    return Unknown(f"result of calling `{owner.cls}`")


# attributes


def tensor_attribute(m: Machine, owner: Tensor, name: str, node: ast.AST, frame: Frame) -> Value:
    return tensor_attributes.attribute(m, owner, name, node, frame)


def is_tensor_method(name: str) -> bool:
    """Whether only tensors have a method of this name."""
    return operations.is_tensor_method(f"Tensor.{name}")


def object_attribute(m: Machine, owner: Obj, name: str, node: ast.AST, frame: Frame) -> Value:
    """An attribute of an instance of a library class."""
    assert isinstance(owner.cls, str)
    if owner.cls == "torch.device" and name == "type":
        kind = owner.fields.get("type")
        return Const(kind) if isinstance(kind, str) else Host("str")
    if owner.cls == "torch.device" and name == "index":
        return Host("int", Change.CONFIG, ("device index", identity_of(owner)))
    if owner.cls.startswith("torch.nn."):
        found = nn.attribute(m, owner, name, frame.place(node))
        if found is not None:
            return found
    if owner.cls == "torch.cuda.Stream" and name in operations.listed("stream_handles"):
        return streams_events.handle_of(m, owner)
    held = owner.fields.get("wrapped")
    if held is not None and owner.cls == "compiled":
        return attributes.get(m, held, name, node, frame)
    method = External(f"{owner.cls}.{name}", owner)
    known = operations.lookup(method.name)
    if known is not None and known.on_read:
        return call_external(m, method, Arguments(), frame.place(node), frame)
    return method


def is_module_method(name: str) -> bool:
    """Whether `torch.nn.Module` has a method of this name."""
    return name in operations.listed("module_methods")


def inherited_attribute(m: Machine, owner: Obj, dotted: str, name: str, place: Place) -> Value | None:
    """What a library base class gives an instance of a project class."""
    if f"{dotted}.{name}" in MODELS and dotted.startswith("torch.nn."):
        return External(f"{dotted}.{name}", owner)
    if nn.is_module_class(dotted) or dotted == "torch.nn.Module":
        return nn.attribute(m, owner, name, place) or External(f"torch.nn.Module.{name}", owner)
    if dotted in nn.CUDA_BASES and f"{dotted}.{name}" in MODELS:
        return External(f"{dotted}.{name}", owner)
    if dotted.startswith("torch.optim.lr_scheduler.") and f"{schedules.BASE}.{name}" in MODELS:
        return External(f"{schedules.BASE}.{name}", owner)
    if dotted in ("torch.optim.Optimizer", "torch.optim.optimizer.Optimizer") and name != "step":
        return External(f"torch.optim.Optimizer.{name}", owner)
    if dotted == "threading.Thread":
        return External(f"threading.Thread.{name}", owner)
    if dotted in ("torch.autograd.Function", "torch.autograd.function.Function"):
        return External(f"torch.autograd.Function.{name}", owner)
    held = owner.fields.get("elements")
    if dotted in operations.listed("mapping_classes") and isinstance(held, Mapping):
        return External(f"builtins.dict.{name}", held)
    if dotted.startswith("builtins.") or host.is_method(dotted, name):
        return External(f"{dotted}.{name}", owner)
    return None


# Tests of the interpreter's version are read as on this one.
PYTHON = (3, 12, 0)


_CONSTANTS: dict[str, Callable[[], Value]] = {
    "torch.version.hip": lambda: Const(None),
    "torch.version.xpu": lambda: Const(None),
    "torch.version.cuda": lambda: Host("str", Change.CONSTANT),
    "typing.TYPE_CHECKING": lambda: FALSE,
    "sys.platform": lambda: Const("linux"),
    "os.name": lambda: Const("posix"),
    "sys.version_info": lambda: Sequence_([Const(part) for part in PYTHON], "tuple"),
    "torch.backends.cuda.is_built": lambda: TRUE,
    "math.inf": lambda: Host("float", Change.CONSTANT),
    "math.pi": lambda: Host("float", Change.CONSTANT),
    "torch.inf": lambda: Host("float", Change.CONSTANT),
}


def constant(dotted: str) -> Value | None:
    """Constants of libraries that decide branches."""
    made = _CONSTANTS.get(dotted)
    return made() if made is not None else None


def wrote_field(m: Machine, owner: Obj, name: str, value: Value, place: Place) -> None:
    """A field of an object was assigned: modules register children and parameters by it."""
    if type(value) is Tensor and value.parameter:
        value.storage.owner = value.storage.owner or "parameter"
    if name == "state" and owner.cls == "torch.optim.Optimizer":
        optimizer_state.drop(m, owner, place)
    if name == "forward" and "?forward" in owner.fields:
        m.heap.write(owner.fields, "?forward", value)  # what has been put in its place is called no longer


def wrote_external(m: Machine, owner: External, name: str, value: Value, place: Place) -> None:
    """An attribute of a library was assigned: switches of the compiler matter."""
    if owner.name.startswith("torch._inductor.config") and name == "cudagraphs" and isinstance(value, Const):
        m.memo["inductor-cudagraphs"] = value
    if owner.name == "torch.backends.cudnn" and name == "benchmark" and isinstance(value, Const):
        m.memo[specialised.BENCHMARK] = bool(value.value)


def note_replaced(m: Machine, owner: Tensor, place: Place) -> None:
    """`tensor.data = other`: the name keeps, the memory goes."""
    m.memo.setdefault("replaced", Sequence_()).fields.setdefault("places", []).append((owner.storage, place))


def note_grad(m: Machine, owner: Tensor, value: Value, place: Place) -> None:
    """`p.grad = value`."""
    if isinstance(value, Tensor):
        m.memo[("grad", owner.storage.serial)] = value
    elif is_none(value):
        m.memo.pop(("grad", owner.storage.serial), None)
