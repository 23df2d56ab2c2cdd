"""Where the results of tensor operations live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    frameworks,
    table_conditions,
    tensor_ops,
)
from graphlint.analysis.libraries.registry import Call
from graphlint.analysis.values import (
    Const,
    External,
    Host,
    Tensor,
    Union,
    Unknown,
    Value,
)
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


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
    pinned = last == "pin_memory" or _is_asked_pinned(call)
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
        return library.device or _captured_device(call)
    if operation.factory and _follows_owner(last) and operands and _is_open(operands[0]):
        return None  # made like something that could not be followed, or like one of several
    made_like = operands and isinstance(operands[0], (Tensor, Union)) and _follows_owner(last)
    if operation.factory and not made_like:
        return "pinned" if pinned else default_device(call.m)
    if not tensors and any(isinstance(operand, Unknown) for operand in operands):
        return None  # made of something that could not be followed
    return tensor_ops.common_device(tensors) if tensors else default_device(call.m)


def _captured_device(call: Call) -> str | None:
    """The device of what a library makes while it captures itself: the one that it captures on."""
    capture, library = call.m.capture, operations.library_of(call.name)
    return "cuda" if capture is not None and capture.kind.startswith(f"{library}.") else None


def _is_asked_pinned(call: Call) -> bool:
    """Whether host memory is asked to be pinned, in the words of torch or of Warp."""
    return any(
        table_conditions.is_true(call.arguments.kwargs.get(name)) for name in operations.listed("pinned")
    )


def _is_open(owner: Value) -> bool:
    """Whether it is not known where something lives that another tensor is made like."""
    if isinstance(owner, Union):
        devices = {part.device if isinstance(part, Tensor) else None for part in owner.values}
        return len(devices) > 1 or None in devices
    return isinstance(owner, Unknown)


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
