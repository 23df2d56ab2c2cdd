"""The tensors that an optimizer keeps for its parameters: moments, averages, step counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import attributes, tensor_ops
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries import weights
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import Const, Obj, Tensor, Unknown, Value

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

FIELD = "?state"


def make(call: Call, optimizer: Obj) -> None:
    """Give a new optimizer its state, unless it is one that keeps none."""
    momentum = call.arguments.kwargs.get("momentum", call.args[2] if len(call.args) > 2 else None)
    stateless = momentum is None or (isinstance(momentum, Const) and not momentum.value)
    if call.name.endswith(".SGD") and stateless:
        return
    with call.m.before_everything():
        optimizer.fields[FIELD] = call.m.tensor(None, call.place)


def use(m: Machine, optimizer: Obj, place: Place) -> None:
    """A step reads and writes the state."""
    if FIELD in optimizer.fields:
        held = attributes.read_field(m, optimizer, FIELD, place)
        tensor_ops.note_use(m, [held] if isinstance(held, Tensor) else [], place)


@model("torch.optim.Optimizer.load_state_dict")
def _load(call: Call) -> Value:
    """Loading puts other tensors in place of the state.

    It counts where the program itself loads between a capture and a replay: a method that nobody calls is
    for resuming, before anything is captured.
    """
    held = call.this.fields.get(FIELD)
    call.m.emit(Called(place=call.place, what="optimizer-state", target=call.this))
    if isinstance(held, Tensor) and any(
        _same_run(call.m, capture.facts["frames"]) for capture in call.m.finished
    ):
        weights.replace(call.m, [held], call.place)
    return Unknown("optimizer state")


def _same_run(m: Machine, frames: tuple[Frame, ...]) -> bool:
    """Whether a function of the program is in the middle of having run both."""
    running = {id(frame) for frame in m.frames[1:]}
    return any(id(frame) in running for frame in frames)
