"""What is left of graphs, streams and events when the device is gone: objects that say so when used."""

from __future__ import annotations

import weakref
from typing import Any

_KEPT = frozenset(["__class__", "__dict__", "__weakref__", "__doc__", "__module__"])
_living: weakref.WeakSet[Any] = weakref.WeakSet()
_kinds: dict[type, type] = {}


def remember(made: Any) -> Any:
    """Note an object that is of no use without the device."""
    _living.add(_Held(made))
    return made


class _Held:
    """Tells objects apart by identity: streams that are equal are still several objects."""

    __slots__ = ("__weakref__", "reference")

    def __init__(self, made: Any) -> None:
        self.reference = weakref.ref(made)
        made.__dict__["_graphlint_held"] = self


def end() -> None:
    """The device is gone: whatever is left of them becomes an object that only says so."""
    for held in list(_living):
        made = held.reference()
        if made is not None:
            made.__class__ = _kinds.get(type(made)) or _ended(type(made))
    _living.clear()


def _ended(kind: Any) -> type:
    def use(self: Any, name: str) -> Any:
        if name in _KEPT or not callable(getattr(kind, name, None)) or name.startswith("__"):
            return object.__getattribute__(self, name)
        raise RuntimeError(f"this {kind.__name__} belongs to a `with virtual_cuda():` block that has ended")

    members = {"__getattribute__": use, "__module__": kind.__module__, "__hash__": object.__hash__}
    _kinds[kind] = type(kind)(kind.__name__, (kind,), members)
    return _kinds[kind]
