"""The tensors that an optimizer keeps for its parameters: moments, averages, step counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import attributes, tensor_ops
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries import weights
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Const, Obj, Tensor, Unknown, Value

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
    call.m.emit(Called(place=call.place, what="optimizer-state", target=call.this))
    drop(call.m, call.this, call.place)
    return Unknown("optimizer state")


@model("torch.optim.Optimizer.state.clear")
def _clear(call: Call) -> Value:
    """`optimizer.state.clear()`: the next eager step makes other moments."""
    drop(call.m, call.this, call.place)
    return NONE


def drop(m: Machine, optimizer: Obj, place: Place) -> None:
    """An optimizer gives up the tensors of its state."""
    held = optimizer.fields.get(FIELD)
    if isinstance(held, Tensor) and any(_same_run(m, capture.facts["frames"]) for capture in m.finished):
        weights.replace(m, [held], place)


def _same_run(m: Machine, frames: tuple[Frame, ...]) -> bool:
    """Whether a function of the program is in the middle of having run both."""
    running = {id(frame) for frame in m.frames[1:]}
    return any(id(frame) in running for frame in frames)
