"""Words and judgements that several rules share when they report."""

from __future__ import annotations

from graphlint.analysis.events import Operation
from graphlint.analysis.values import Tensor, Unknown, Value, alternatives, tensors_in
from graphlint.finding import Confidence


def confidence_in(operands: tuple[Value, ...]) -> Confidence:
    """Definite for a tensor known to be on the device, likely for one whose device is not known."""
    tensors = [tensor for operand in operands for tensor in tensors_in(operand, 2)]
    if any(tensor.device == "cuda" for tensor in tensors):
        return Confidence.DEFINITE
    if (
        any(isinstance(part, Unknown) for operand in operands for part in alternatives(operand))
        and not tensors
    ):
        return Confidence.POSSIBLE
    return Confidence.LIKELY


def reached_by(event: Operation) -> str:
    """The operation as the user wrote it: a call by its name, another syntax by that."""
    if event.how == "call":
        return f"`{event.name.removeprefix('Tensor.')}`"
    return f"`{event.how}`"


def is_parameter(value: Value) -> bool:
    """Whether a value is a weight or buffer of a module."""
    return any(
        isinstance(part, Tensor) and (part.parameter or part.storage.owner in ("parameter",))
        for part in alternatives(value)
    )
