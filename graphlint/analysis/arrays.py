"""Arrays of the host that share the memory of a tensor: `pinned.numpy()`, and parts of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis import storing, timeline
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.values import Change, Tensor, Unknown, Value
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def over(m: Machine, tensor: Tensor | None) -> Unknown:
    """`tensor.numpy()`: an array over the memory of a tensor."""
    return _share(m, Unknown("numpy array", Change.CHANGING, typed="numpy"), tensor)


def item(m: Machine, array: Unknown, change: Change, place: Place) -> Unknown:
    """`array[index]`: a row of an array shares its memory."""
    tensor = m.memo.get(_key(array))
    is_row = isinstance(tensor, Tensor) and (tensor.ndim or 0) > 1
    if not is_row:
        read(m, [array], place)
    return _share(m, Unknown("item", change, typed="numpy" if is_row else ""), tensor)


def read(m: Machine, values: Iterable[Value], place: Place) -> None:
    """Python, or a function of NumPy, reads what is in arrays."""
    held = (m.memo.get(_key(value)) for value in values if isinstance(value, Unknown))
    timeline.host_reads(m, [tensor for tensor in held if isinstance(tensor, Tensor)], place)


def _share(m: Machine, made: Unknown, tensor: Tensor | None) -> Unknown:
    if tensor is not None and tensor.device in ("cpu", "pinned"):
        m.memo[_key(made)] = tensor
    return made


def _key(array: Unknown) -> tuple[str, int]:
    return ("memory of array", array.serial)


def wrote(m: Machine, array: Unknown, value: Value, node: ast.AST, frame: Frame) -> None:
    """Eager code stores into an array: that writes into the tensor whose memory it shares."""
    tensor = m.memo.get(_key(array))
    if tensor is not None and not m.captures:
        storing.wrote_tensor(m, tensor, value, node, frame)
