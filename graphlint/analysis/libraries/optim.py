"""Optimizers, gradient scaling, data loading and autograd: the parts of a training step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import calls, elements, gradients, outputs, tensor_ops, timeline
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries import autograd, nn, optimizer_groups, optimizer_state
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    FALSE,
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
)
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@model(
    *[f"torch.optim.{name}" for name in operations.listed("optimizers")],
    *operations.listed("other_optimizers"),
)
def _optimizer(call: Call) -> Value:
    made = Obj("torch.optim.Optimizer", call.place)
    known = call.arguments.more_kwargs is None
    kind = call.name if call.name in operations.listed("other_optimizers") else call.name.rpartition(".")[2]
    made.fields["kind"] = Const(kind) if known else Unknown("optimizer")
    made.fields["param_groups"] = optimizer_groups.of_call(call)
    optimizer_state.make(call, made)
    return made


@model("torch.optim.Optimizer.__init__", "torch.optim.optimizer.Optimizer.__init__")
def _initialise(call: Call) -> Value:
    """A project's own optimizer hands parameters and defaults to the base class."""
    if isinstance(call.owner, Obj):
        fields = call.owner.fields
        fields["param_groups"] = optimizer_groups.of_defaults(call)
        fields["state"] = Mapping(call.place, External("builtins.dict"))
        fields["defaults"] = call.get(1, "defaults") or Mapping(call.place)
    return NONE


def given_optimizer(place: Place) -> Obj:
    """An optimizer that the program is given: its class and parameters are not known."""
    made = Obj("torch.optim.Optimizer", place)
    group = Mapping(place)
    group.fields[("const", "lr")] = (Const("lr"), Host("float", Change.CONFIG))
    made.fields.update({"kind": Unknown("optimizer"), "param_groups": Sequence_([group], "list")})
    return made


@model("torch.optim.Optimizer.step")
def _step(call: Call) -> Value:
    """An optimizer step: it runs its closure; in a capture its Python numbers become kernel arguments."""
    m = call.m
    closure = call.get(0, "closure")
    loss = NONE if closure is None else calls.call(m, closure, Arguments(), call.node, call.frame, call.place)
    capturable = _options(m, call.this, "capturable")
    kind = call.this.fields["kind"]
    m.emit(
        Called(
            place=call.place,
            what="optimizer-step",
            target=call.this,
            arguments=tuple(capturable),
            data=kind.value if isinstance(kind, Const) else None,
        )
    )
    if m.captures:
        m.captures[-1].work += 1
        if isinstance(kind, Const):
            _reads(call, f"torch.optim.{kind.value}.step")
        timeline.fills(m.captures[-1], _parameters_of(call))
        gradients.note_update(m, _parameters_of(call))
        optimizer_state.use(m, call.this, call.place)
        optimizer_groups.use_count(call)
        groups, _ = elements.of(m, call.this.fields["param_groups"])
        for group in groups:
            if isinstance(group, Mapping):
                optimizer_groups.use(call, group)
    return loss


def _reads(call: Call, name: str) -> None:
    """What steps and averages do with the host, where the tables say that they do."""
    entry = operations.lookup(name)
    found = entry.effect_of() if entry is not None else None
    if found is not None:
        tensor_ops.effect(call.m, call.node, name, found.kind, (), call.frame)


@model("torch.nn.AveragedModel.update_parameters")
def _update_average(call: Call) -> Value:
    """The count of updates is on the device that the average was given, else on the host."""
    if not is_none(call.this.fields["device"]):
        _reads(call, "torch.optim.swa_utils.AveragedModel.update_parameters")
    return NONE


@model("torch.optim.Optimizer.zero_grad")
def _zero_grad(call: Call) -> Value:
    nn.announce_zero_grad(call, tuple(_parameters_of(call)))
    return NONE


def _options(m: Machine, optimizer: Obj, name: str) -> list[Value]:
    """The values of an option in the parameter groups of an optimizer; None where it was not given."""
    groups, rest = elements.of(m, optimizer.fields.get("param_groups", NONE))
    held = [part for part in (*groups, rest) if isinstance(part, Mapping)]
    return [group.fields.get(("const", name), (NONE, NONE))[1] for group in held]


def _parameters_of(call: Call) -> list[Tensor]:
    return [t for value in _options(call.m, call.this, "params") for t in tensors_in(value)]


@model("torch.optim.Optimizer.state_dict")
def _state(call: Call) -> Value:
    return Unknown("optimizer state")


@model("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")
def _scaler(call: Call) -> Value:
    made = Obj("torch.amp.GradScaler", call.place)
    made.fields["enabled"] = call.arguments.kwargs.get("enabled", TRUE)
    return made


@model("torch.amp.GradScaler.scale")
def _scale(call: Call) -> Value:
    return call.args[0] if call.args else Unknown("scaled")


@model("torch.amp.GradScaler.get_scale", "torch.amp.GradScaler.state_dict")
def _scale_read(call: Call) -> Value:
    """The scale is a tensor on the GPU once something was scaled: to ask for its value is to read it."""
    if call.this.fields.get("enabled") != FALSE:
        tensor_ops.effect(call.m, call.node, call.name, "scalar-read", (), call.frame)
    return Host("float", Change.CHANGING) if call.name.endswith("get_scale") else Unknown("scaler state")


@model("torch.amp.GradScaler.step", "torch.amp.GradScaler.update", "torch.amp.GradScaler.unscale_")
def _scaler_step(call: Call) -> Value:
    step = call.name.rpartition(".")[2]
    optimizer = call.get(0, "optimizer")
    fused = isinstance(optimizer, Obj) and any(
        isinstance(value, Const) and value.value is True for value in _options(call.m, optimizer, "fused")
    )
    call.m.emit(Called(place=call.place, what="scaler", target=Const(step), data=fused))
    return NONE


@model("Tensor.backward", "torch.autograd.backward", "torch.autograd.grad")
def _backward(call: Call) -> Value:
    m = call.m
    roots = [call.owner] if call.owner is not None else call.args[:1]
    target = roots[0] if roots and isinstance(roots[0], Value) else NONE
    m.trains = True
    trained = tuple(nn.trained_parameters(m, call.place))
    event = Called(place=call.place, what="backward", target=target, arguments=trained, data=call.name)
    event.keywords = call.arguments.kwargs
    m.emit(event)
    if call.name != "torch.autograd.grad":
        gradients.note_backward(m, target, call.place)
    if isinstance(target, Tensor):
        tensor_ops.note_use(m, [target], call.place)
    if m.captures:
        m.captures[-1].work += 1
        m.captures[-1].facts.setdefault("trained", set()).update(each.storage for each in trained)
    autograd.run_backward(m, call.place, call.frame, since=_newest_input(call))
    if call.name == "torch.autograd.grad":
        return _gradients(call)
    return NONE


def _newest_input(call: Call) -> int:
    """When the last tensor was made that `torch.autograd.grad` goes back to: no further than that."""
    inputs = call.get(1, "inputs") if call.name == "torch.autograd.grad" else None
    return max((t.storage.serial for t in tensors_in(inputs or NONE, 2)), default=0)


def _gradients(call: Call) -> Value:
    """What `torch.autograd.grad` returns: of parameters of a graphed module its buffers, else new tensors."""
    wanted = call.get(1, "inputs")
    named = list(tensors_in(wanted, 2)) if wanted is not None else []
    held = [call.m.memo.get(("graphed gradient", each.storage.serial)) for each in named]
    buffers = [outputs.refreshed(call.m, each, call.place) for each in held if isinstance(each, Tensor)]
    if buffers and not call.m.captures:
        return Sequence_(buffers, "tuple")
    return Sequence_((), "tuple", call.m.tensor(None, call.place))


@model("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast_mode.autocast")
def _autocast(call: Call) -> Value:
    made = Obj("torch.autocast", call.place)
    old_form = call.name == "torch.cuda.amp.autocast"
    device = None if old_form else call.get(0, "device_type")
    made.fields["device"] = device if device is not None else Const("cuda")
    made.fields["enabled"] = call.get(0 if old_form else 2, "enabled") or Const(True)
    made.fields["cache"] = call.get(2 if old_form else 3, "cache_enabled") or Const(True)
    return made


@model("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def _loader(call: Call) -> Value:
    made = Obj("torch.utils.data.DataLoader", call.place)
    made.fields.update({f"?{k}": v for k, v in call.arguments.kwargs.items()})
    batch = call.m.tensor("pinned" if call.flag(99, "pin_memory") else "cpu", call.place)
    batch.storage.changing = True
    made.fields["elements"] = Sequence_((), "list", Unknown("batch", Change.CHANGING), Change.CHANGING)
    return made


@model("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_")
def _clip(call: Call) -> Value:
    if call.flag(3, "error_if_nonfinite"):
        tensor_ops.effect(call.m, call.node, call.name, "host-check", tuple(call.args), call.frame)
    given = [t for value in call.args[:1] for t in tensors_in(value, 2)]
    return call.m.tensor(tensor_ops.common_device(given) if given else None, call.place, "float", 0)
