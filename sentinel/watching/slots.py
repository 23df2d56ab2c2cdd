"""One place where the program keeps a tensor, so that one can look again later.

A slot holds nothing alive: it goes through a weak reference to the nearest object that allows one, or looks
for the frame on the stack.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from graphlint.sentinel.core.events import Kind
from graphlint.sentinel.watching.runs import MISSING

Root = Callable[[], Any]
Step = tuple[str, Any]
Found = list[tuple[torch.Tensor, "Slot"]]


class Slot:
    """One place that names a tensor."""

    __slots__ = ("kind", "look", "root", "steps", "text")

    def __init__(self, text: str, kind: Kind, root: Root, steps: tuple[Step, ...]) -> None:
        self.text, self.kind, self.root, self.steps = text, kind, root, steps
        self.look: Callable[[], Any] = self._quick() or self._look  # what is there now; MISSING if nothing is

    def _quick(self) -> Callable[[], Any] | None:
        """A faster way for what most inputs are: an attribute, or a parameter of a module."""
        if len(self.steps) != 1 or not isinstance(self.root, weakref.ref):
            return None
        how, key = self.steps[0]
        if how == "attribute":
            return _attribute(self.root, key)
        return _registered(self.root, *key) if how == "registered" else None

    def _look(self) -> Any:
        value = self.root()
        for step in self.steps:
            if value is None or value is MISSING:
                return MISSING
            value = followed(value, step)
        return value


def _attribute(root: Root, key: str) -> Callable[[], Any]:
    def look() -> Any:
        owner = root()
        return MISSING if owner is None else owner.__dict__.get(key, MISSING)

    return look


def _registered(root: Root, table: str, key: str) -> Callable[[], Any]:
    def look() -> Any:
        owner = root()
        return MISSING if owner is None else owner.__dict__[table].get(key, MISSING)

    return look


def followed(value: Any, step: Step) -> Any:
    """What one step leads to; MISSING if nowhere."""
    how, key = step
    try:
        if how == "attribute":
            return object.__getattribute__(value, "__dict__")[key]
        if how == "registered":
            return object.__getattribute__(value, "__dict__")[key[0]][key[1]]
        if how == "item":
            return value[key]
        if how == "cell":
            return value.__closure__[key].cell_contents
        return value.__self__ if how == "self" else _gradient(value)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return MISSING


def _gradient(value: torch.Tensor) -> Any:
    with torch._C.DisableTorchFunction():
        return value.grad
