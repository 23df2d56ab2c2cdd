"""Generators, seeds and random state of torch: what a replay does not run."""

from __future__ import annotations

from graphlint.analysis import (
    tensor_ops,
)
from graphlint.analysis.events import Called
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import (
    NONE,
    Obj,
    Value,
)


@model("torch.Generator")
def _generator(call: Call) -> Value:
    made = Obj("torch.Generator", call.place)
    named = tensor_ops.device_of(call.m, call.get(0, "device"))
    made.fields["type"] = "cpu" if named is False else named
    return made


@model("torch.Generator.manual_seed", "torch.Generator.set_state")
def _seed(call: Call) -> Value:
    _announce_state(call)
    return call.this


def _announce_state(call: Call) -> None:
    """Random state of the device is read or set by Python, which a replay does not run."""
    on_host = isinstance(call.owner, Obj) and call.owner.fields.get("type") == "cpu"
    if call.m.captures and not on_host:
        call.m.emit(Called(place=call.place, what="rng-state", target=call.owner or NONE, data=call.name))


@model(
    "torch.manual_seed",
    "torch.random.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "torch.cuda.random.manual_seed",
    "torch.random.fork_rng",
)
def _manual_seed(call: Call) -> Value:
    _announce_state(call)
    return Obj(call.name, call.place)


@model("torch.set_rng_state", "torch.random.set_rng_state")
def _set_state_of_host(call: Call) -> Value:
    return NONE  # no kernel draws from the host's generator


@model("torch.get_rng_state", "torch.random.get_rng_state")
def _get_state_of_host(call: Call) -> Value:
    return call.m.tensor("cpu", call.place, "int", 1)


@model("torch.cuda.set_rng_state", "torch.cuda.random.set_rng_state", "torch.cuda.set_rng_state_all")
def _set_state(call: Call) -> Value:
    _announce_state(call)
    return NONE


@model("torch.cuda.get_rng_state", "torch.cuda.random.get_rng_state", "torch.Generator.get_state")
def _get_state(call: Call) -> Value:
    _announce_state(call)
    return call.m.tensor("cpu", call.place, "int", 1)
