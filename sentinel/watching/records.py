"""What is known of each graph."""

from __future__ import annotations

import itertools

from graphlint.sentinel.watching.names import Watchlist
from graphlint.sentinel.watching.reading import Captured
from graphlint.sentinel.watching.versions import Versions

_numbers = itertools.count(1)


class Record:
    """One captured graph."""

    __slots__ = ("captured", "names", "number", "pool", "versions")

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.pool = 0
        self.captured: Captured | None = None
        self.names = Watchlist([])
        self.versions = Versions()
