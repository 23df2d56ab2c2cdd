"""`autograd.Function`: its forward runs where it is applied, its backward where a backward pass runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphlint.analysis import attributes, calls, late_changes
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Operation
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries import hooks
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import NONE, Class, Host, Obj, Sequence_, Tensor, Unknown, Value
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine

CONTEXT = "torch.autograd.function.FunctionCtx"
AWAITED = "a forward of compiled code awaits its backward"
_MOST_FUNCTIONS = 8


@model("torch.autograd.Function.apply")
def _apply(call: Call) -> Value:
    """`F.apply(...)`: forward now, and backward when a backward pass comes by, of the same capture if any."""
    m = call.m
    if not isinstance(call.owner, Class):
        return Unknown("autograd function")
    context = Obj(CONTEXT, call.place)
    context.fields["needs_input_grad"] = Sequence_((), "tuple", Host("bool"))
    forward = attributes.get(m, call.owner, "forward", call.node, call.frame)
    apart = call.owner.info.find("setup_context") is not None
    given = Arguments([*([] if apart else [context]), *call.args], call.arguments.kwargs, call.arguments.more)
    output = calls.call(m, forward, given, call.node, call.frame, call.place)
    if apart:
        setup = attributes.get(m, call.owner, "setup_context", call.node, call.frame)
        inputs = Sequence_(call.args, "tuple", call.arguments.more)
        calls.call(m, setup, Arguments([context, inputs, output]), call.node, call.frame, call.place)
    if not m.is_compiling:
        tape = (m.capture.facts if m.capture is not None else m.memo).setdefault("autograd", {})
        on = tuple(each.serial for each in call.args if isinstance(each, Obj))
        tape[(call.owner.info.qualname, on)] = (call.owner, context, output)
    return output


@model(f"{CONTEXT}.save_for_backward")
def _save(call: Call) -> Value:
    call.m.heap.write(call.this.fields, "saved_tensors", Sequence_(call.args, "tuple", call.arguments.more))
    return NONE


@model("torch.autograd.set_detect_anomaly", "torch.autograd.detect_anomaly")
def _detect_anomaly(call: Call) -> Value:
    """Checks every backward pass: from here on, or in the body of the context that it is."""
    switches = call.name.endswith("set_detect_anomaly")
    on = call.flag(0, "mode") is True if switches else True
    if switches:
        call.m.memo["anomaly"] = on
    if on and call.m.captures:
        entry = operations.lookup(call.name)
        call.m.emit(Operation(place=call.place, name=call.name, effect="host-check", entry=entry))
    return Obj("torch.autograd.detect_anomaly" if on else "torch.autograd.set_detect_anomaly", call.place)


def detects_anomalies(m: Machine) -> bool:
    """Whether a backward pass looks for values that are not finite."""
    within = any(context.cls == "torch.autograd.detect_anomaly" for context in m.contexts)
    return within or bool(m.memo.get("anomaly"))


@model("Tensor.register_hook", "Tensor.register_post_accumulate_grad_hook")
def _tensor_hook(call: Call) -> Value:
    return _keep_hook(call, call.owner, [])


def module_hook(call: Call) -> Value:
    """A hook that runs in the backward pass with the module and its gradients."""
    owner = call.owner if call.owner is not None else NONE
    pairs = 1 if call.name.endswith("pre_hook") else 2
    return _keep_hook(call, owner, [owner, *[Sequence_((), "tuple", NONE)] * pairs])


def _keep_hook(call: Call, owner: Value | None, given: list[Value]) -> Value:
    handle = Obj(hooks.HANDLE, call.place)
    hook = call.get(0, "hook")
    if hook is not None and owner is not None:
        call.m.backward_hooks.append((hook, owner, given, handle))
        if isinstance(owner, Obj) and not call.name.endswith("pre_hook"):
            hooks.keep(call.m, owner, hooks.BACKWARD, hook, handle)
        if isinstance(owner, Obj):
            late_changes.note(call.m, late_changes.BACKWARD_HOOK, call.place, [owner.serial], handle)
        elif isinstance(owner, Tensor):
            late_changes.note(call.m, late_changes.GRADIENT_HOOK, call.place, [owner.storage], handle)
    return handle


def run_backward(m: Machine, place: Place, frame: Frame, *, since: int = 0) -> None:
    """Run what a backward pass runs in Python: functions applied before it, and in a capture hooks.

    What was applied before `since` is none of its steps.
    """
    m.memo.pop(AWAITED, None)
    capture = m.capture
    tape = _tape(m, capture)
    passed = [key for key, (_, context, _) in tape.items() if context.serial > since][-_MOST_FUNCTIONS:]
    for owner, context, output in [tape[key] for key in passed]:
        backward = attributes.get(m, owner, "backward", place.node, frame)
        gradients = [_gradient(m, t, place) for t in tensors_in(output, 1)] or [_gradient(m, None, place)]
        calls.call(m, backward, Arguments([context, *gradients]), place.node, frame, place)
    if capture is None:
        for key in passed:
            tape.pop(key, None)
        return
    for hook, owner, given, handle in m.backward_hooks[:_MOST_FUNCTIONS]:
        if handle.fields.get("removed") is None:
            tensor = owner if isinstance(owner, Tensor) else None
            arguments = [_with_gradients(m, value, place) for value in given] or [_gradient(m, tensor, place)]
            calls.call(m, hook, Arguments(arguments), place.node, frame, place)


def _tape(m: Machine, capture: Capture | None) -> dict[Any, Any]:
    """The functions that a backward pass goes through; one of its own graph those of the graph before."""
    own: dict[Any, Any] = (capture.facts if capture is not None else m.memo).get("autograd", {})
    if capture is None or own or not m.finished or m.finished[-1].compiled:
        return own
    before: dict[Any, Any] = m.finished[-1].facts.get("autograd", {})
    return before


def _with_gradients(m: Machine, value: Value, place: Place) -> Value:
    if isinstance(value, Sequence_) and value.rest is NONE:
        return Sequence_((), "tuple", _gradient(m, None, place))
    return value


def _gradient(m: Machine, like: Tensor | None, place: Place) -> Tensor:
    if like is None:
        return m.tensor("cuda", place)
    return m.tensor(like.device, place, like.kind, like.ndim)
