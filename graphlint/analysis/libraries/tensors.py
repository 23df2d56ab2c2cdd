"""Tensor methods, attributes and torch functions, as the operation tables describe them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import (
    arrays,
    derived,
    effects,
    frameworks,
    gradients,
    host_work,
    parallel,
    rows,
    storing,
    table_conditions,
    tensor_ops,
    timeline,
)
from graphlint.analysis.events import Called, Operation
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.table_conditions import Arguments
from graphlint.analysis.values import (
    FALSE,
    TRUE,
    Change,
    Const,
    External,
    Host,
    Obj,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    alternatives,
    is_none,
)
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


HOST_RESULTS = {
    "host-bool": "bool",
    "host-int": "int",
    "host-float": "float",
    "host-number": "float",
    "host-complex": "float",
    "host-str": "str",
}


def attribute(m: Machine, owner: Tensor, name: str, node: ast.AST, frame: Frame) -> Value:
    """`tensor.name`."""
    handler = _ATTRIBUTES.get(name)
    if handler is not None:
        return handler(m, owner, frame.place(node))
    return External(f"{array_class(owner)}.{name}", owner)


def array_class(owner: Tensor) -> str:
    """The class whose methods an array has."""
    return operations.libraries()[owner.library].array if owner.library else "Tensor"


def _shape(m: Machine, owner: Tensor, place: Place) -> Value:
    if owner.shape is not None:
        return Sequence_(owner.shape, "tuple")
    made = Obj("torch.Size", place)
    made.serial = owner.storage.serial
    return made


def _device(m: Machine, owner: Tensor, place: Place) -> Value:
    made = Obj("torch.device", place)
    made.fields["type"] = "cpu" if owner.device == "pinned" else owner.device
    made.fields["assumed"] = owner.device is None and owner.storage.owner != "opaque"
    return made


def _data(m: Machine, owner: Tensor, place: Place) -> Value:
    alias = owner.alias(ndim=owner.ndim)
    alias.trained = False
    return alias


def _transposed(m: Machine, owner: Tensor, place: Place) -> Value:
    made = owner.alias(ndim=owner.ndim)
    made.strided = True
    return made


def _grad(m: Machine, owner: Tensor, place: Place) -> Value:
    key = ("grad", owner.storage.serial)
    made = m.memo.get(key)
    if not isinstance(made, Tensor):
        with m.before_everything():
            made = m.memo[key] = m.tensor(owner.device, place, owner.kind, owner.ndim)
        made.storage.owner = "gradient"
    return made


def _is_cuda(m: Machine, owner: Tensor, place: Place) -> Value:
    if owner.device in (None, tensor_ops.EITHER):
        return Const(True) if m.captures else Host("bool")
    return TRUE if owner.device == "cuda" else FALSE


def _rank(m: Machine, owner: Tensor, place: Place) -> Value:
    return Const(owner.ndim) if owner.ndim is not None else Host("int", Change.SHAPE)


_ATTRIBUTES: dict[str, Callable[[Machine, Tensor, Place], Value]] = {
    "shape": _shape,
    "device": _device,
    "data": _data,
    "T": _transposed,
    "mT": _transposed,
    "H": _transposed,
    "real": _data,
    "grad": _grad,
    "is_cuda": _is_cuda,
    "ndim": _rank,
    "dtype": lambda m, owner, place: Host(
        "any", Change.CONSTANT, ("dtype", owner.kind, owner.storage.serial)
    ),
    "requires_grad": lambda m, owner, place: Host("bool", Change.CONFIG),
    "is_leaf": lambda m, owner, place: Host("bool", Change.CONFIG),
    "is_sparse": lambda m, owner, place: FALSE,
    "itemsize": lambda m, owner, place: Host("int", Change.CONSTANT),
    "nbytes": lambda m, owner, place: Host("int", Change.SHAPE),
    "grad_fn": lambda m, owner, place: Unknown("grad_fn"),
    "layout": lambda m, owner, place: Host("any", Change.CONSTANT),
    "names": lambda m, owner, place: Unknown("names"),
}


def call_method(call: Call) -> Value:
    """`tensor.method(...)`."""
    of, _, name = call.name.rpartition(".")
    owner = call.owner
    parallel.note_transfer(call.m, name)
    if isinstance(owner, Unknown):
        owner = _assumed(call, owner)
        if owner is None:
            return Unknown(f"result of `{name}`", change_of(call.owner) if call.owner else Change.CONFIG)
    assert owner is not None
    if name == "requires_grad_" and isinstance(owner, Tensor):
        storing.note_gradients_wanted(call.m, [owner], call.get(0, "requires_grad"), call.place)
    operation = operations.method(name, of)
    return perform(call, operation, [owner, *call.args])


def _assumed(call: Call, owner: Unknown) -> Tensor | None:
    """A value that only tensors have such a method for is taken to be one, of unknown device."""
    if owner.typed != "tensor" and not operations.is_tensor_method(call.name):
        return None
    key = ("assumed", owner.serial)
    made = call.m.memo.get(key)
    if not isinstance(made, Tensor):
        made = call.m.tensor(None, call.place)
        made.storage.owner = "assumed"
        call.m.memo[key] = made
    return made


def call_function(call: Call, operation: operations.Operation) -> Value:
    """`torch.function(...)`."""
    return perform(call, operation, list(call.args))


def perform(call: Call, operation: operations.Operation, operands: list[Value]) -> Value:
    """An operation on abstract operands: its effect on the capture, its use of host numbers, its result."""
    m = call.m
    operands = [tensor_ops.as_operand(m, value) for value in operands]
    keywords = call.arguments.kwargs
    out = keywords.get("out")
    tensors = tensor_ops.operands_of(*operands, *(v for k, v in keywords.items() if k != "out"))
    device = result_device(call, operation, operands, tensors)
    if device == "cuda" or any(t.device == "cuda" for t in tensors):
        parallel.note_cuda_call(m)
    _announce(call, operation, operands, tensors, device)
    if device != "cpu" or any(t.on_device for t in tensors):
        _use_hosts(call, operation, operands)
    is_number = operation.result in HOST_RESULTS or operation.result == "host-list"
    if device in ("cpu", "pinned") and not is_number and not any(t.on_device for t in tensors):
        timeline.host_reads(m, tensors, call.place)
        host_work.read(m, tensors[1:] if operation.result == "inplace" else tensors, call.place)
    tensor_ops.note_use(m, tensors, call.place)
    if isinstance(out, Tensor):
        tensor_ops.note_use(m, [out], call.place)
        storing.wrote_tensor(m, out, tensors[0] if tensors else Unknown("value"), call.node, call.frame)
        return out
    made = result(call, operation, operands, tensors, device)
    tensor_ops.note_source(m, tensors, made)
    if not operation.factory:
        derived.note_made(m, tensors, made, converted=operation.result == "maybe-view")
    effects.note_operands(m, tensors, made)
    if operation.result != "inplace":
        host_work.note(m, tensors, tensors_in(made, 1), call.place)
    if operation.random:
        host_work.note_draw(m, operation.name, tensors_in(made, 1), call.place)
    if operation.result != "inplace" and tensors:
        gradients.note_made(m, operation.name.rpartition(".")[2], tensors, made)
    if (
        operation.factory
        and isinstance(made, Tensor)
        and table_conditions.is_true(keywords.get("requires_grad"))
    ):
        made.trained = True
    rows.note_made(m, tensors, made)
    rows.note_operation(call, operation, operands)
    if tensors and table_conditions.is_true(call.get(1, "non_blocking")):
        timeline.moved(m, tensors[0], made, call.place)
    if operation.result != "inplace":
        tensor_ops.belongs_to(made, operations.library_of(operation.name))
    return made


def _announce(
    call: Call,
    operation: operations.Operation,
    operands: list[Value],
    tensors: list[Tensor],
    device: str | None,
) -> None:
    m = call.m
    if operation.warmup:
        target = External(operation.name)
        m.emit(Called(place=call.place, what="library", target=target, arguments=tuple(operands)))
    if operation.random:
        m.emit(
            Called(
                place=call.place,
                what="random",
                target=External(operation.name),
                arguments=tuple(operands),
                keywords=call.arguments.kwargs,
            )
        )
    if not operation.effects or not (m.captures or m.foreign or m.finished):
        return
    keywords = call.arguments.kwargs
    arguments = Arguments(operation, operands, keywords, device, call.arguments.more is None)
    holds = table_conditions.of_call(arguments) | _of_capture(m) | _of_owner(call.owner)
    effect = operation.effect_of(holds, *table_conditions.told(arguments))
    if effect is None or not (effect.always or _touches_device(holds, tensors)):
        return
    capture = tensor_ops.broken_capture(m, operation.name, effect.kind)
    if capture is None:
        timeline.waits_for(m, effect.kind)
        return
    event = Operation(place=call.place, name=operation.name, effect=effect.kind, operands=tuple(operands))
    event.keywords, event.entry, event.capture = call.arguments.kwargs, operation, capture
    m.emit(event)


def _of_owner(owner: Value | None) -> set[str]:
    """The conditions that the object fulfils whose method is called."""
    mode = owner.fields.get("graph-mode") if isinstance(owner, Obj) else None
    return {"not-in-graph-mode"} if isinstance(mode, Const) and not mode.value else set()


def _of_capture(m: Machine) -> set[str]:
    """The conditions that the open capture and the settings of libraries fulfil."""
    holds = {"no-memory-pool"} if m.memo.get("memory-pools-off") else set()
    strict = m.capture is not None and m.capture.mode in ("global", "thread_local")
    return holds | {"strict-mode"} if strict else holds


def _touches_device(holds: set[str], tensors: list[Tensor]) -> bool:
    return any(t.on_device for t in tensors) or bool(holds & {"to-gpu", "own-generator"})


def _use_hosts(call: Call, operation: operations.Operation, operands: list[Value]) -> None:
    """Host numbers among the operands become part of the recorded kernels."""
    if operation.factory or operation.name.rpartition(".")[2] in operations.listed("shaping"):
        for value in operands:
            call.m.note_size(value)
    if not call.m.captures or not any(tensor_ops.any_tensor(v) for v in operands):
        if not operation.factory:
            return
    use = "fill" if operation.result == "inplace" or operation.factory else "argument"
    named = [v for k, v in call.arguments.kwargs.items() if k not in operations.listed("without_numbers")]
    for value in [*operands, *named]:
        if not tensor_ops.any_tensor(value):
            tensor_ops.host_use(call.m, call.node, value, use, call.frame)


# results


def result_device(
    call: Call, operation: operations.Operation, operands: list[Value], tensors: list[Tensor]
) -> str | None:
    """Where the result of an operation lives."""
    named = tensor_ops.device_of(call.m, call.arguments.kwargs.get("device"))
    last = operation.name.rpartition(".")[2]
    if operations.canonical(f"Tensor.{last}") == "Tensor.cuda":
        last = "cuda"
    if last in operations.listed("moving"):
        return _moved_device(call, last, operands, tensors, named)
    pinned = last == "pin_memory" or table_conditions.is_true(call.arguments.kwargs.get("pin_memory"))
    if named == "cpu" and pinned and operation.factory:
        return "pinned"
    if named is not False:
        return named if isinstance(named, str) else None
    if last == "pin_memory":
        return "pinned"
    if operation.device in ("cpu", "cuda"):
        return operation.device
    library = operations.libraries().get(operations.library_of(operation.name))
    if operation.factory and library is not None and not _follows_owner(last):
        return library.device
    if operation.factory and _follows_owner(last) and operands and isinstance(operands[0], Unknown):
        return None  # made like something that could not be followed
    if operation.factory and not (operands and isinstance(operands[0], Tensor) and _follows_owner(last)):
        return "pinned" if pinned else default_device(call.m)
    return tensor_ops.common_device(tensors) if tensors else default_device(call.m)


def _follows_owner(last: str) -> bool:
    return last.startswith("new_") or last.endswith("_like")


def _moved_device(
    call: Call, last: str, operands: list[Value], tensors: list[Tensor], named: str | bool | None
) -> str | None:
    here = tensors[0].device if tensors else None
    if last in ("cpu", "cuda"):
        return last
    if named is not False:
        return named if isinstance(named, str) else None
    for operand in operands[1:]:
        if last == "type":
            return _device_of_type(operand, here)
        if isinstance(operand, (Host, External)):
            continue
        found = tensor_ops.device_of(call.m, operand)
        if found is not False:
            return found if isinstance(found, str) else None
    return here


def _device_of_type(value: Value, here: str | None) -> str | None:
    """The device of an old tensor type: `torch.cuda.FloatTensor`, `"torch.FloatTensor"`."""
    name = value.name if isinstance(value, External) else value.value if isinstance(value, Const) else ""
    if not isinstance(name, str) or not name.endswith("Tensor"):
        return here
    return "cuda" if name.startswith("torch.cuda.") else "cpu"


def default_device(m: Machine) -> str | None:
    """The device of a factory without `device=`: the CPU, unless a device context encloses it."""
    for context in reversed(m.contexts):
        if context.cls == "torch.device":
            return context.fields.get("type")
    framework = frameworks.default_device(m)
    if framework is not None:
        return framework
    chosen = m.memo.get("default-device", "cpu")
    return chosen if isinstance(chosen, str) or chosen is None else "cpu"


def result(
    call: Call,
    operation: operations.Operation,
    operands: list[Value],
    tensors: list[Tensor],
    device: str | None,
) -> Value:
    """The value that an operation returns."""
    kind = operation.result
    if operation.with_dim and _has_dim(call, operands):
        kind = operation.with_dim
    first = tensors[0] if tensors else None
    if kind in HOST_RESULTS:
        if operation.effects and tensors:
            return tensor_ops.read_back(call.m, tensors, HOST_RESULTS[kind])
        return Host(HOST_RESULTS[kind], Change.SHAPE)
    if kind in ("inplace", "view", "views", "maybe-view") and first is not None:
        return _aliased(call, operation, operands, first, kind, device)
    if kind.startswith("tuple"):
        return _tuple_result(call, operation, kind, device, first)
    if kind == "shape":
        return _shape_result(call, operation, first)
    if kind == "host-list":
        return Sequence_((), "list", tensor_ops.read_back(call.m, tensors), Change.CHANGING)
    if kind in ("host-meta", "none", "object", "numpy"):
        return _other_result(call, operation, kind, first)
    return _fresh(call, operation, device, first)


def _has_dim(call: Call, operands: list[Value]) -> bool:
    return "dim" in call.arguments.kwargs or "axis" in call.arguments.kwargs or len(operands) > 1


def _aliased(
    call: Call,
    operation: operations.Operation,
    operands: list[Value],
    first: Tensor,
    kind: str,
    device: str | None,
) -> Value:
    last = operation.name.rpartition(".")[2]
    if kind == "inplace":
        source = operands[1] if len(operands) > 1 else Unknown("value")
        waits = not table_conditions.is_true(call.get(1, "non_blocking"))
        more = operations.accumulates(operation.name)
        storing.wrote_tensor(call.m, first, source, call.node, call.frame, waits=waits, accumulates=more)
        return operands[0]
    if kind == "maybe-view":
        moved = device != first.device and not (device is None and first.device == "cuda")
        if moved or call.flag(9, "copy"):
            return _fresh(call, operation, device, first)
        if last in operations.listed("converting"):
            return _converted(call, operation, device, first, last)
    alias = first.alias(kind=_kind(call, operation, first), ndim=_view_rank(first, last))
    alias.strided = alias.strided or last in operations.listed("striding")
    return Sequence_((), "tuple", alias) if kind == "views" else alias


def _converted(
    call: Call, operation: operations.Operation, device: str | None, first: Tensor, last: str
) -> Value:
    """A conversion may return the tensor itself; what it is called decides which we assume."""
    kind = _kind(call, operation, first)
    is_output = first.storage.graph is not None and not call.m.captures
    if is_output or (last == "contiguous" and not first.strided):
        return first.alias(kind=kind, ndim=first.ndim)
    made = call.m.tensor(device, call.place, kind, first.ndim)
    return made


def _view_rank(first: Tensor, last: str) -> int | None:
    if first.ndim is None:
        return None
    if last == "unsqueeze":
        return first.ndim + 1
    return first.ndim if last in operations.listed("rank_keeping_views") else None


def _tuple_result(
    call: Call, operation: operations.Operation, kind: str, device: str | None, first: Tensor | None
) -> Value:
    count = kind.partition(":")[2]
    if not count:
        return Sequence_((), "tuple", _fresh(call, operation, device, first))
    items = [_fresh(call, operation, device, first) for _ in range(int(count))]
    last = items[-1]
    name = operation.name.rpartition(".")[2]
    if isinstance(last, Tensor) and name in operations.listed("indices_last"):
        last.kind = "int"
    return Sequence_(items, "tuple")


def _shape_result(call: Call, operation: operations.Operation, first: Tensor | None) -> Value:
    serial = first.storage.serial if first is not None else 0
    if operation.name.endswith(".size") and not call.args and not call.arguments.kwargs:
        made = Obj("torch.Size", call.place)
        made.serial = serial or made.serial
        return made
    if operation.name.endswith(".size") and len(call.args) == 1 and serial:
        return Host("int", Change.SHAPE, ("size", serial, identity_of(call.args[0])))
    key = tuple(a.value if isinstance(a, Const) else id(a) for a in call.args)
    return Host("int", Change.SHAPE, ("shape", operation.name, serial, key) if serial else None)


def _other_result(call: Call, operation: operations.Operation, kind: str, first: Tensor | None) -> Value:
    if kind == "none":
        return Const(None)
    if kind == "numpy":
        return arrays.over(call.m, call.owner if isinstance(call.owner, Tensor) else None)
    if kind != "host-meta":
        return Unknown(operation.name)
    is_pointer = operation.name == "Tensor.data_ptr" and first is not None
    return Host("any", Change.SHAPE, _address(first) if is_pointer and first is not None else None)


def _address(tensor: Tensor) -> object:
    """What equal pointers share: the memory, not swapped since; of a part of it nothing is known."""
    if tensor.part is not None:
        return None
    swapped = max((when for _, when in tensor.storage.replaced.values()), default=0)
    return ("address", tensor.storage.serial, swapped)


def _kind_of_other(dtype: Value) -> str | None:
    """The kind that `dtype=x.dtype` names: that of the other tensor; None where it is not known."""
    symbol = dtype.symbol if isinstance(dtype, Host) else None
    known = symbol[1] if isinstance(symbol, tuple) and symbol[:1] == ("dtype",) else None
    return known if isinstance(known, str) else None


def _kind(call: Call, operation: operations.Operation, first: Tensor | None) -> str | None:
    named = call.arguments.kwargs.get("dtype")
    for value in (named, *(a for a in call.args if isinstance(a, External))):
        if isinstance(value, External):
            return kind_of_dtype(value.name)
    if named is not None and not is_none(named):
        return _kind_of_other(named)
    if operation.dtype in ("bool", "int", "float"):
        return operation.dtype
    last = operation.name.rpartition(".")[2]
    if last in operations.listed("to_float"):
        return "float"
    if last in operations.listed("to_int"):
        return "int"
    if operation.name == "torch.where" and len(call.args) > 1:
        return _kind_of_numbers(call.args[1:])  # the condition has no say
    if operation.dtype == "same" and first is not None:
        return first.kind
    if named is None and last in operations.listed("factories_like_their_data"):
        return _kind_of_numbers(call.args[1:2] if last == "full" else call.args)
    return "float" if operation.factory and last in operations.listed("sizes_by_position") else None


def _kind_of_numbers(values: Sequence[Value]) -> str | None:
    """The kind of a tensor made from these Python numbers, the most general one among them."""
    kinds: set[str | None] = set()
    for value in values:
        for part in alternatives(value):
            if isinstance(part, Sequence_):
                kinds.add(_kind_of_numbers(part.elements()))
            elif isinstance(part, Const):
                kinds.add(type(part.value).__name__)
            else:
                kinds.add(part.kind if isinstance(part, (Host, Tensor)) else None)
    return next((kind for kind in (None, "any", "float", "int", "bool") if kind in kinds), None)


def kind_of_dtype(name: str) -> str | None:
    last = name.rpartition(".")[2]
    if last in ("bool", "uint8"):
        return "bool" if last == "bool" else "byte"
    if last.startswith(("int", "uint", "long", "short")):
        return "int"
    return "float" if last.startswith(("float", "half", "bfloat", "double")) else None


def _fresh(call: Call, operation: operations.Operation, device: str | None, first: Tensor | None) -> Tensor:
    ndim = _rank_of(call, operation, first)
    made = call.m.tensor(device, call.place, _kind(call, operation, first), ndim)
    last = operation.name.rpartition(".")[2]
    is_output = first is not None and first.storage.graph is not None and not call.m.captures
    if is_output and last in operations.listed("copying_out"):
        made.storage.owner = "copy"  # of what a replay would overwrite
    if last in operations.listed("sized") and first is None:
        made.shape = _known_shape(call, made)
    return made


def _known_shape(call: Call, made: Tensor) -> tuple[Value, ...] | None:
    """The sizes that a factory is given, where some are constants; the others are told by the tensor."""
    size = call.args[0] if call.args else call.arguments.kwargs.get("size")
    parts = size.items if isinstance(size, Sequence_) and size.rest is None else tuple(call.args)
    if call.arguments.more is not None or not any(_is_size(part) for part in parts):
        return None
    if not all(isinstance(part, (Const, Host, Unknown)) for part in parts):
        return None
    return tuple(part if _is_size(part) else _size(made, index) for index, part in enumerate(parts))


def _is_size(part: Value) -> bool:
    return isinstance(part, Const) and type(part.value) is int


def _size(owner: Tensor, dimension: int) -> Host:
    return Host("int", Change.SHAPE, ("size", owner.storage.serial, ("const", dimension)))


def _rank_of(call: Call, operation: operations.Operation, first: Tensor | None) -> int | None:
    if operation.reduces == "always":
        return 0
    last = operation.name.rpartition(".")[2]
    if operation.reduces == "without-dim":
        given = len(call.args) + (0 if isinstance(call.owner, (Tensor, Unknown)) else -1)
        return 0 if given <= 0 and not {"dim", "axis"} & set(call.arguments.kwargs) else None
    if operation.factory and first is None:
        return _factory_rank(call, last)
    if operation.dtype == "bool" or last in operations.listed("rank_keeping"):
        return first.ndim if first is not None else None
    return None


def _factory_rank(call: Call, last: str) -> int | None:
    if last in operations.listed("counting_factories"):
        return 1
    if last == "tensor":
        return 0 if call.args and isinstance(call.args[0], (Const, Host)) else None
    size = call.args[0] if call.args else call.arguments.kwargs.get("size")
    if isinstance(size, Sequence_):
        return len(size.items) if size.rest is None else None
    if isinstance(size, (Const, Host)) and last in operations.listed("sizes_by_position"):
        return len(call.args) if call.arguments.more is None else None
    return 1 if isinstance(size, (Const, Host)) and last == "full" else None
