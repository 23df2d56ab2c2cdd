"""What the host state was, remembered without keeping any of it alive, and what of it is different now."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from graphlint.sentinel.hoststate.living import living, weakly
from graphlint.sentinel.hoststate.walk import ATOMS, Owner, Walk

_SMALL = 64  # elements of a host tensor whose values are remembered
Kind = Literal["value", "tensor", "object", "missing"]


@dataclass(frozen=True, slots=True)
class Token:
    """What a place held: a value, a tensor at an address, or an object of which only the identity counts."""

    kind: Kind
    value: Any = None
    reference: Any = None

    def recalled(self) -> Any:
        """The thing itself; raises LookupError when it is gone."""
        if self.kind == "value":
            return self.value
        found = living(self.reference) if self.reference is not None else None
        if found is None:
            raise LookupError
        return found

    def same(self, now: Token) -> bool:
        """Whether another look found the same."""
        if self.kind != now.kind:
            return False
        if self.kind == "value":
            return type(self.value) is type(now.value) and (
                self.value == now.value or self.value is now.value
            )
        if self.kind == "tensor":
            return self.reference() is now.reference() and self.value == now.value
        if self.reference is not None and now.reference is not None:
            return bool(self.reference() is now.reference())
        return True  # an object without weak references is compared by what is in it


@dataclass(frozen=True, slots=True)
class Change:
    """A place that holds something else now. `owner` and `key` are where it is written."""

    path: str
    before: Token
    now: Token
    owner: Owner
    key: Any

    def take_back(self) -> None:
        """Let the place hold what it held.

        Raises LookupError when that is gone, TypeError where it cannot be.
        """
        self.owner.put(self.key, self.before.recalled())


class Memory:
    """The host state that one walk found: a token for each place, by its path."""

    def __init__(self, walk: Walk) -> None:
        self.tokens = dict(_tokens(walk))

    def changes(self, walk: Walk) -> list[Change]:
        """What differs in a later walk from the same names; places that one of both lacks do not count."""
        found = []
        for owner, key, path, value in walk.places():
            before = self.tokens.get(path)
            if before is None:
                continue
            now = token(value)
            if not before.same(now):
                found.append(Change(path, before, now, owner, key))
        return found

    def added(self, walk: Walk) -> list[tuple[str, Any]]:
        """Places that were not there."""
        return [(path, value) for _, _, path, value in walk.places() if path not in self.tokens]


def token(value: Any) -> Token:
    """Remember what a place holds."""
    if isinstance(value, ATOMS):
        return Token("value", value)
    if isinstance(value, torch.Tensor):
        return Token("tensor", _content(value), weakref.ref(value))
    return Token("object", id(value), weakly(value))


def _tokens(walk: Walk) -> Iterator[tuple[str, Token]]:
    for _, _, path, value in walk.places():
        yield path, token(value)


def _content(tensor: torch.Tensor) -> Any:
    if tensor.is_cuda or tensor.device.type != "cpu" or tensor.numel() > _SMALL:
        return None
    try:
        return tuple(tensor.detach().reshape(-1).tolist())
    except RuntimeError:
        return None
