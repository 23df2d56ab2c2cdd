"""Puts back what a second run of captured Python does to objects: attributes, items, globals, cells."""

from __future__ import annotations

from collections import deque
from types import CellType
from typing import Any

from graphlint.sentinel.hoststate.walk import ATOMS, SlotOwner, Walk, places

_ABSENT = object()
Effect = tuple[Any, str, Any, Any]  # object, attribute, value before, value after


class Undo:
    """Shallow copies of everything that a walk found, to be put back in place.

    It holds the program's objects, so it must not outlive the second run.
    """

    def __init__(self, walk: Walk) -> None:
        self._copies = [(owner, _copied(owner)) for owner in walk.owners]
        self._flags = [(tensor, tensor.requires_grad) for tensor in walk.tensors.values() if tensor.is_leaf]
        self._gradients = [(tensor, tensor.grad) for tensor, _ in self._flags]

    def effects(self) -> list[Effect]:
        """The attributes of objects that hold another number, text or flag than they held."""
        return [
            (owner.instance, name, before, now)
            for owner, copy in self._copies
            if owner.instance is not None
            for name, before in copy
            if isinstance(before, ATOMS) and (now := owner.held.get(name)) is not before
            if isinstance(now, ATOMS) and (type(now) is not type(before) or now != before)
        ]

    def put_back(self) -> None:
        """Restore what differs."""
        for owner, copy in self._copies:
            _put_back(owner, copy)
        for tensor, gradient in self._gradients:
            if tensor.grad is not gradient:
                tensor.grad = gradient
        for tensor, flag in self._flags:
            if tensor.is_leaf and tensor.requires_grad != flag:
                tensor.requires_grad_(flag)


def _copied(owner: Any) -> Any:
    if isinstance(owner, SlotOwner):
        return dict(owner.present)
    held = owner.held
    if isinstance(held, (set, frozenset)):
        return set(held)
    return places(held)


def _put_back(owner: Any, copy: Any) -> bool:
    held = owner.held
    if isinstance(owner, SlotOwner):
        return _put_back_names(held, copy)
    if isinstance(held, set):
        return _put_back_set(held, copy)
    if isinstance(held, (tuple, frozenset)) or _identical(places(held), copy):
        return False
    if isinstance(held, dict):
        held.clear()
        held.update(copy)
    elif isinstance(held, (list, deque)):
        held.clear()
        held.extend(value for _, value in copy)
    elif isinstance(held, CellType):
        _put_back_cell(held, copy)
    return True


def _put_back_cell(cell: CellType, copy: list[tuple[Any, Any]]) -> None:
    if copy:
        cell.cell_contents = copy[0][1]
    else:
        del cell.cell_contents


def _put_back_set(held: set[Any], copy: set[Any]) -> bool:
    if held == copy:
        return False
    held.clear()
    held.update(copy)
    return True


def _put_back_names(held: Any, copy: dict[str, Any]) -> bool:
    changed = False
    for name, value in copy.items():
        now = held.get(name, _ABSENT) if isinstance(held, dict) else getattr(held, name, _ABSENT)
        if now is value or (not isinstance(held, dict) and now == value and type(now) is type(value)):
            continue
        changed = True
        if isinstance(held, dict):
            held[name] = value
        else:
            setattr(held, name, value)
    return changed


def _identical(now: list[tuple[Any, Any]], before: list[tuple[Any, Any]]) -> bool:
    return len(now) == len(before) and all(
        (a is c or (type(a) is int and a == c)) and b is d for (a, b), (c, d) in zip(now, before)
    )
