"""The values that tensor operations return, as the operation tables describe them."""

from __future__ import annotations

from graphlint.analysis import (
    arithmetic,
    arrays,
    storing,
    table_conditions,
    tensor_ops,
)
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries import tensor_kinds
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.values import (
    Change,
    Const,
    Host,
    Obj,
    Sequence_,
    Tensor,
    Unknown,
    Value,
)
from graphlint.rules import operations

COUNT = "number of elements"
MOST_PARTS = 8  # of a tensor are told apart

HOST_RESULTS = {
    "host-bool": "bool",
    "host-int": "int",
    "host-float": "float",
    "host-number": "float",
    "host-complex": "float",
    "host-str": "str",
}


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
        return _host_number(call, operands, HOST_RESULTS[kind])
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


def _host_number(call: Call, operands: list[Value], kind: str) -> Host:
    """What a function makes of numbers alone: it changes when they do."""
    made = arithmetic.derived(call.name, *operands, kind=kind) if operands else None
    return made if isinstance(made, Host) else Host(kind, Change.SHAPE)


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
    alias = first.alias(
        kind=tensor_kinds.kind(call, operation, first), ndim=tensor_kinds.view_rank(first, last)
    )
    alias.strided = alias.strided or last in operations.listed("striding")
    return _parts(alias, operands, last) if kind == "views" else alias


def _parts(alias: Tensor, operands: list[Value], name: str) -> Sequence_:
    """The parts that a tensor is cut into: `x.chunk(2)` are two."""
    count = operands[1] if len(operands) > 1 and name in operations.listed("counted_parts") else None
    if isinstance(count, Const) and isinstance(count.value, int) and 0 < count.value <= MOST_PARTS:
        return Sequence_([alias.alias(kind=alias.kind, ndim=alias.ndim) for _ in range(count.value)], "tuple")
    return Sequence_((), "tuple", alias)


def _converted(
    call: Call, operation: operations.Operation, device: str | None, first: Tensor, last: str
) -> Value:
    """A conversion may return the tensor itself; what it is called decides which we assume."""
    kind = tensor_kinds.kind(call, operation, first)
    is_output = first.storage.graph is not None and not call.m.captures
    if is_output or (last == "contiguous" and not first.strided):
        return first.alias(kind=kind, ndim=first.ndim)
    return call.m.tensor(device, call.place, kind, first.ndim)


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
    counted = call.m.memo.get((COUNT, serial)) if first is not None and first.part is None else None
    if operation.name.endswith(".numel") and isinstance(counted, Host):
        return counted
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


def _fresh(call: Call, operation: operations.Operation, device: str | None, first: Tensor | None) -> Tensor:
    ndim = tensor_kinds.rank(call, operation, first)
    made = call.m.tensor(device, call.place, tensor_kinds.kind(call, operation, first), ndim)
    last = operation.name.rpartition(".")[2]
    if last in operations.listed("sizes_by_position") and len(call.args) == 1:
        call.m.memo[(COUNT, made.storage.serial)] = call.args[0]  # of a list of sizes nothing is told
    is_output = first is not None and first.storage.graph is not None and not call.m.captures
    if is_output and last in operations.listed("copying_out"):
        made.storage.owner = "copy"  # of what a replay would overwrite
    if last in operations.listed("sized") and first is None:
        made.shape = tensor_kinds.known_shape(call, made)
    return made
