from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable


class Buckets:
    def __init__(self, sizes: Iterable[int]) -> None:
        self.sizes = sorted(sizes)

    def fitting(self, length: int) -> int | None:
        place = bisect_left(self.sizes, length)
        return self.sizes[place] if place < len(self.sizes) else None

    def largest_first(self) -> list[int]:
        return list(reversed(self.sizes))
