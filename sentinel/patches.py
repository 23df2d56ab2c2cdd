"""Attributes that are replaced for a while, and put back exactly as they were."""

from __future__ import annotations

from typing import Any

_ABSENT = object()


class Patches:
    """Each replacement remembers what the object's own dictionary held, or that it held nothing."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any]] = []
        self._items: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module or a class."""
        self._done.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def set_item(self, owner: Any, key: str, value: Any) -> None:
        """Replace an item of a mapping, such as an environment variable."""
        self._items.append((owner, key, owner.get(key, _ABSENT)))
        owner[key] = value

    def restore(self) -> None:
        """Undo all of it, the last first."""
        while self._done:
            owner, name, before = self._done.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        while self._items:
            owner, name, before = self._items.pop()
            if before is _ABSENT:
                del owner[name]
            else:
                owner[name] = before

    def __iter__(self) -> Any:
        return iter([(owner, name) for owner, name, _ in self._done])
