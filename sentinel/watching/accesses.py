"""What a capture touches, by address: the common language of the driver's node list and the virtual tape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from graphlint.sentinel.findings import Stack


@dataclass(slots=True)
class Access:
    """Memory that one recorded operation reads or writes; not `sure` if it only looks like an address.

    `writes` is None where that is not known; `host` is memory of the host.
    """

    address: int
    size: int
    reads: bool
    writes: bool | None
    stack: Stack = ()
    sure: bool = True
    host: bool = False


class Recording(Protocol):
    """How a kind of device tells what a capture recorded."""

    def begin(self, graph: Any) -> None:
        """A capture of `graph` has begun on this thread."""

    def end(self, graph: Any) -> list[Access]:
        """It is about to end; what was recorded."""

    wholes: frozenset[int]  # where storages begin that lie over everything and belong to nobody

    def pool_of(self, address: int) -> int | None:
        """The graph pool that an address belongs to; 0 for everybody's memory, None for no device memory."""

    def allocated(self, address: int) -> bool:
        """Whether somebody holds the memory at an address now."""

    def busy(self, stream: int) -> bool:
        """Whether a stream may have work that is not done."""


def pool_number(token: tuple[int, int]) -> int:
    """One number for the token of a graph pool."""
    return (int(token[0]) << 32) | int(token[1])
