"""Host values that captured Python would change in every call, and that a replay leaves as they were.

That alone harms nobody. It is a finding when code that is no part of the captured body reads such a value
after a replay: for a while, the attribute is a descriptor of its class that notices who reads it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from graphlint.sentinel.findings import Finding, Stack
from graphlint.sentinel.hoststate.undoing import Effect
from graphlint.sentinel.origins import has_own_state, is_own_module
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.companions import is_aside

_MISSING = object()


class Attribute:
    """Stands in a class for an attribute of its instances; behaves as if it were not there."""

    def __init__(self, name: str, fallback: Any, told: Callable[[Any, str, bool], None]) -> None:
        self.name, self.fallback, self.told = name, fallback, told

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        if instance is None:
            if self.fallback is _MISSING:
                raise AttributeError(f"type object {kind.__name__!r} has no attribute {self.name!r}")
            return self.fallback
        value = vars(instance).get(self.name, self.fallback)
        if value is _MISSING:
            raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self.name!r}")
        self.told(instance, self.name, False)
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value
        self.told(instance, self.name, True)

    def __delete__(self, instance: Any) -> None:
        if self.name not in vars(instance):
            raise AttributeError(self.name)
        del vars(instance)[self.name]
        self.told(instance, self.name, True)


class _Stale:
    """An attribute of one object that replays leave behind."""

    __slots__ = ("bodies", "captured", "graph", "instance", "now", "replay", "wanted")

    def __init__(
        self, effect: Effect, bodies: set[CodeType], captured: Stack, graph: int, replay: int
    ) -> None:
        instance, _, self.now, self.wanted = effect
        self.instance = weakref.ref(instance)
        self.bodies, self.captured, self.graph, self.replay = bodies, captured, graph, replay


class Effects:
    """Watches reads of stale attributes."""

    def __init__(self, report: Callable[[Finding], None]) -> None:
        self._report = report
        self._watched: dict[tuple[type, str], tuple[Attribute, Any]] = {}  # and what the class held itself
        self._stale: dict[tuple[int, str], _Stale] = {}

    def replayed(
        self, effects: list[Effect], bodies: set[CodeType], captured: Stack, graph: int, replay: int
    ) -> None:
        """A replay has been made, and the body would have had these effects."""
        for effect in effects:
            instance, name, *_ = effect
            if self._watch(type(instance), name):
                self._stale[(id(instance), name)] = _Stale(effect, bodies, captured, graph, replay)

    def finish(self) -> None:
        """Put the classes back, but for what the program has bound anew meanwhile."""
        for (kind, name), (stand_in, before) in self._watched.items():
            if vars(kind).get(name) is not stand_in:
                continue
            if before is _MISSING:
                delattr(kind, name)
            else:
                setattr(kind, name, before)
        self._watched.clear()
        self._stale.clear()

    def _watch(self, kind: type, name: str) -> bool:
        if (kind, name) in self._watched:
            return True
        module = sys.modules.get(kind.__module__)
        if not is_own_module(module) or name.startswith("__"):
            return False
        fallback = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _MISSING)
        if hasattr(type(fallback), "__get__") or "__getattribute__" in vars(kind):
            return False
        stand_in = Attribute(name, fallback, self._told)
        self._watched[kind, name] = stand_in, vars(kind).get(name, _MISSING)
        setattr(kind, name, stand_in)
        return True

    def _told(self, instance: Any, name: str, written: bool) -> None:
        stale = self._stale.get((id(instance), name))
        if stale is None or stale.instance() is not instance or is_aside():
            return
        frame = _reader()
        if frame is None or frame.f_code in stale.bodies:
            return
        del self._stale[(id(instance), name)]
        if not written:
            self._report(_finding(stale, type(instance).__name__, name))


def _reader() -> FrameType | None:
    """The program's own frame, if the attribute is used in its code and not in a library on its way."""
    frame: FrameType | None = sys._getframe(3)
    return frame if frame is not None and has_own_state(frame.f_code.co_filename) else None


def _finding(stale: _Stale, kind: str, name: str) -> Finding:
    message = (
        f"`{kind}.{name}` is read here as {stale.now!r}: the captured code would have made it "
        f"{stale.wanted!r}, and replays do not run its Python"
    )
    return Finding(
        "CG403",
        message[:300],
        stale.captured,
        (),
        places.here(),
        "effects",
        stale.graph,
        stale.replay,
        "error",
        "likely",
    )
