"""Tuples, lists, dicts and records that hold the outputs of a graph, and who holds these."""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from types import FrameType, GeneratorType
from typing import Any

import torch

from graphlint.sentinel.watching.runs import MISSING
from graphlint.sentinel.watching.slots import Slot, followed

_RUNNING = (FrameType, GeneratorType)
_DATA = (torch.Tensor, int, float, str, bool, type(None), tuple, list, dict)


def references(slot: Slot, tensor: torch.Tensor) -> int:
    """How many references lead to what holds a tensor under a name: one tuple may be kept as often as a
    tensor may. 0 where the name leads elsewhere now, or straight to the tensor."""
    value, count = slot.root(), 0
    for step in slot.steps:
        if value is None or value is MISSING:
            return 0
        if _is_container(value):
            count += sys.getrefcount(value)
        value = followed(value, step)
    return count if value is tensor else 0


def together(values: Sequence[Any]) -> int:
    """How often one list or dict has one of the values, or a container of its own that holds it."""
    containers = _holding(values)
    held = [*values, *containers]
    times = [_times(holder, held) for holder in _referrers(held)]
    return max(times, default=0)


def _holding(values: Sequence[Any]) -> list[Any]:
    return [holder for holder in _referrers(values) if _is_container(holder) and not _is_namespace(holder)]


def _referrers(values: Sequence[Any]) -> list[Any]:
    """Who holds the values, other than what runs: a generator that is at work here would hold what it is
    asked about."""
    found = gc.get_referrers(*values) if values else []
    return [holder for holder in found if holder is not values and type(holder) not in _RUNNING]


def _times(holder: Any, values: Iterable[Any]) -> int:
    """How often a collection has the same value."""
    if type(holder) not in (list, deque, dict) or getattr(holder, "maxlen", None) is not None:
        return 0
    items = list(holder.values() if isinstance(holder, dict) else holder)
    most = max((sum(item is value for item in items) for value in values), default=0)
    return 0 if most > 1 and _is_namespace(holder) else most


def _is_container(value: Any) -> bool:
    """Whether it is data and nothing that acts: records whose fields are data only."""
    if isinstance(value, (tuple, list, dict)):
        return not isinstance(value, torch.Size)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return False
    return all(isinstance(getattr(value, field.name, None), _DATA) for field in dataclasses.fields(value))


def _is_namespace(items: Any) -> bool:
    """Whether a module, an object or a running function has its names in a dict: two names of one result are
    no collection of results."""
    if type(items) is not dict:
        return False
    if "__builtins__" in items:
        return True
    return any(
        isinstance(holder, FrameType) or _names_of(holder) is items for holder in gc.get_referrers(items)
    )


def _names_of(holder: object) -> object:
    try:
        return object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return None
