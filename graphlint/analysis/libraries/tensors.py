"""Tensor methods and torch functions, as the operation tables describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    derived,
    effects,
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
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.table_conditions import Arguments
from graphlint.analysis.values import (
    Change,
    Const,
    External,
    Obj,
    Tensor,
    Unknown,
    Value,
)
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
from graphlint.analysis.libraries import tensor_devices, tensor_results


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
    moved = tensor_ops.as_operand(call.m, owner)
    if isinstance(moved, Tensor):
        return moved
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
    device = tensor_devices.result_device(call, operation, operands, tensors)
    if device == "cuda" or any(t.device == "cuda" for t in tensors):
        parallel.note_cuda_call(m)
    _announce(call, operation, operands, tensors, device)
    if device != "cpu" or any(t.on_device for t in tensors):
        _use_hosts(call, operation, operands)
    is_number = operation.result in tensor_results.HOST_RESULTS or operation.result == "host-list"
    tensor_ops.read_scalars(m, call.node, tensors, call.frame)
    if device in ("cpu", "pinned") and not is_number and not any(t.on_device for t in tensors):
        timeline.host_reads(m, tensors, call.place)
        host_work.read(m, tensors[1:] if operation.result == "inplace" else tensors, call.place)
    tensor_ops.note_use(m, tensors, call.place)
    if type(out) is Tensor:
        tensor_ops.note_use(m, [out], call.place)
        storing.wrote_tensor(m, out, tensors[0] if tensors else Unknown("value"), call.node, call.frame)
        return out
    made = tensor_results.result(call, operation, operands, tensors, device)
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
    if operation.factory and type(made) is Tensor and table_conditions.is_true(keywords.get("requires_grad")):
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
