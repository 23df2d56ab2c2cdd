"""Inputs that were written in place: torch counts the writes of each tensor."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

import torch

from graphlint.sentinel.watching.names import Named


class Versions:
    """The inputs of one graph, and how often each was written when somebody last asked."""

    def __init__(self, names: Iterable[Named] = ()) -> None:
        self._known = [
            (named.memory.number, tensor) for named in names if (tensor := _tensor(named)) is not None
        ]
        self._last = [_version(tensor) for _, tensor in self._known]

    def written(self) -> Iterator[int]:
        """The numbers of the memory that was written since the last time."""
        for at, (memory, tensor) in enumerate(self._known):
            version = _version(tensor)
            if version != self._last[at]:
                self._last[at] = version
                yield memory


def _tensor(named: Named) -> weakref.ref[torch.Tensor] | None:
    """One tensor for an input that a program may write before each replay; weights are not looked at."""
    if any(name.kind in ("parameter", "gradient") for name in named.names):
        return None
    return named.slots[0][2] if named.slots else None


def _version(reference: weakref.ref[torch.Tensor]) -> int:
    tensor = reference()
    return -1 if tensor is None or tensor.is_inference() else tensor._version
