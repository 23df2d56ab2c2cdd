"""Symbols stand for values that are known only by where they come from; equal symbols are equal values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def symbols_in(identity: Any) -> Iterator[Any]:
    """An identity and everything that it is made of, each once."""
    pending, met = [identity], set()
    while pending:
        part = pending.pop()
        if id(part) not in met:
            met.add(id(part))
            yield part
            if isinstance(part, tuple):
                pending.extend(part)


class _Compound(tuple[Any, ...]):
    """A symbol made of others, of which there is one for each content: so equal ones are the same object.

    Values computed from one another nest their symbols; comparing those by content would never end.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


_compounds: dict[Any, _Compound] = {}


def unique(symbol: Any) -> Any:
    """The one object that stands for a symbol of this content."""
    if not isinstance(symbol, tuple) or isinstance(symbol, _Compound):
        return symbol
    known = _compounds.get(symbol)
    if known is None:
        known = _compounds[symbol] = _Compound(symbol)
    return known
