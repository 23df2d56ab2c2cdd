"""Attributes of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import gradients, tensor_ops
from graphlint.analysis.frames import Frame, Place
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
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def attribute(m: Machine, owner: Tensor, name: str, node: ast.AST, frame: Frame) -> Value:
    """`tensor.name`."""
    handler = _ATTRIBUTES.get(name)
    if handler is not None:
        return handler(m, owner, frame.place(node))
    return External(f"{_array_class(owner)}.{name}", owner)


def _array_class(owner: Tensor) -> str:
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
    gradients.note_update(m, [owner])
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
