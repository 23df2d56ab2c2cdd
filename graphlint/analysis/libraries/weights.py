"""What gives weights other memory: casts and moves of a module, assigned states, swaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis import carried, tensor_ops
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries import module_containers, nn
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import NONE, External, Obj, Tensor, Unknown, Value, alternatives
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def replace(m: Machine, tensors: Iterable[Tensor], place: Place) -> None:
    """The tensors keep their names and get other memory at `place`."""
    for tensor in tensors:
        tensor.storage.replaced[place.key] = (place, m.clock)


@model(*[f"torch.nn.Module.{name}" for name in operations.listed("module_casts")])
def _cast(call: Call) -> Value:
    """`.to()`, `.half()`, `.cpu()`: the parameters get new memory when anything changes."""
    m, owner = call.m, call.owner
    if not isinstance(owner, Obj):
        return owner if isinstance(owner, Value) else Unknown("module")
    m.emit(Called(place=call.place, what="module-cast", target=owner, arguments=tuple(call.args)))
    held = nn.parameters_of(m, owner, call.place)
    leaves = _device(call) == "cpu" or call.name.endswith(".to_empty")
    dtype = _dtype(call)
    replace(m, [t for t in held if leaves or (dtype and dtype != _held_dtype(m, t))], call.place)
    _reformat(call, owner)
    if dtype:
        m.memo.update({("dtype", tensor.storage.serial): dtype for tensor in held})
    return owner


def _reformat(call: Call, owner: Obj) -> None:
    """`.to(memory_format=...)`: the weights of convolutions are laid out anew, unless they already are."""
    m, wanted = call.m, call.arguments.kwargs.get("memory_format")
    if not isinstance(wanted, External):
        return
    for module in module_containers.all_modules_in(owner):
        key = ("memory format", module.serial)
        is_conv = isinstance(module.cls, str) and module.cls.rpartition(".")[2].startswith("Conv")
        if is_conv and m.memo.get(key) != wanted.name:
            m.memo[key] = wanted.name
            replace(m, [t for t in nn.parameters_of(m, module, call.place) if t.ndim != 1], call.place)


def _held_dtype(m: Machine, tensor: Tensor) -> str:
    """The dtype that a weight was last cast to; weights are made in float32."""
    return str(m.memo.get(("dtype", tensor.storage.serial), "float32"))


def _device(call: Call) -> str | None:
    """The device that a cast names: None for none, or an unknown one."""
    last = call.name.rpartition(".")[2]
    if last in ("cpu", "cuda"):
        return last
    named = tensor_ops.device_of(
        call.m, call.arguments.kwargs.get("device", call.args[0] if call.args else None)
    )
    return named if isinstance(named, str) else None


def _dtype(call: Call) -> str | None:
    """The dtype that a cast names; None for none, or an unknown one."""
    casts = operations.mapped("dtype_of_cast")
    last = call.name.rpartition(".")[2]
    if last in casts:
        return str(casts[last])
    for value in (*call.args, *call.arguments.kwargs.values()):
        if isinstance(value, External) and value.name.startswith("torch."):
            name = value.name.removeprefix("torch.")
            if "float" in name or name in casts:
                return str(casts.get(name, name))
    return None


@model("torch.nn.Module.load_state_dict")
def _load_state(call: Call) -> Value:
    """`load_state_dict` copies into the parameters, or with `assign=True` puts others in their place."""
    assign = bool(call.flag(2, "assign"))
    target = call.owner or NONE
    call.m.emit(Called(place=call.place, what="load-state", target=target, data=assign))
    loaded = nn.parameters_of(call.m, target, call.place)
    if assign:
        replace(call.m, loaded, call.place)
    elif not call.m.captures:
        for parameter in loaded:
            carried.note_refilled(call.m, parameter)
    return Unknown("incompatible keys")


@model("torch.nn.utils.vector_to_parameters", "torch.nn.utils.convert_parameters.vector_to_parameters")
def _from_vector(call: Call) -> Value:
    """Each parameter becomes a view of the vector."""
    replace(call.m, tensors_in(call.get(1, "parameters") or NONE), call.place)
    return NONE


@model("torch.utils.swap_tensors")
def _swap(call: Call) -> Value:
    replace(call.m, [t for value in call.args[:2] for t in tensors_in(value, 0)], call.place)
    return NONE


@model("Tensor.set_")
def _set(call: Call) -> Value:
    """`t.set_(source)`: another storage under the same name."""
    owners = [part for part in alternatives(call.owner or NONE) if isinstance(part, Tensor)]
    if call.args:
        replace(call.m, owners, call.place)
    return call.owner or NONE


@model(
    *[f"torch.nn.utils.prune.{name}" for name in operations.listed("pruning")],
    *[f"torch.nn.utils.{name}" for name in operations.listed("weight_norms")],
)
def _reparametrise(call: Call) -> Value:
    """The parameter becomes the result of a computation, or a new parameter."""
    module = call.get(0, "module")
    for part in alternatives(module or NONE):
        if isinstance(part, Obj):
            nn.parameters_of(call.m, part, call.place)
            held = part.fields.get(call.text(1, "name", "weight"))
            replace(call.m, [held] if isinstance(held, Tensor) else [], call.place)
    return module or NONE
