"""What only the virtual device can tell: each wait of the host, and copies that pass every dispatch mode
by."""

from __future__ import annotations

from typing import Any

from graphlint.sentinel.core import events
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import streams, transfers
from graphlint.sentinel.watching.memories import base_of
from graphlint.sentinel.watching.observer import Observer
from graphlint.sentinel.watching.reads import Reads
from graphlint.sentinel.watching.streams import number_of_virtual


def follow_waits(patches: Patches, observer: Observer) -> None:
    """Tell whenever the host waits for a stream."""
    plain = streams.Stream.finish

    def finish(self: Any, position: int | None = None) -> None:
        plain(self, position)
        if position is None and observer.following:
            observer.tell(events.Synchronised(stream=number_of_virtual(self)))

    patches.set(streams.Stream, "finish", finish)


def follow_uploads(patches: Patches, reads: Reads) -> None:
    """Have copies from the host that are captured seen in mode "test"."""
    plain = transfers._uploaded

    def uploaded(tensor: Any, non_blocking: bool = False) -> Any:
        if reads.observer.capturing:
            reads.copied(tensor)
        return plain(tensor, non_blocking)

    patches.set(transfers, "_uploaded", uploaded)


def follow_downloads(patches: Patches, reads: Reads) -> None:
    """Have copies to the host seen in mode "test"."""
    plain = transfers._downloaded

    def downloaded(tensor: Any, non_blocking: bool = False) -> Any:
        following = bool(reads.bases) and reads.observer.following
        memory = reads.bases.get(base_of(tensor)) if following else None
        if memory is not None:
            reads.read(tensor, memory)
        host = plain(tensor, non_blocking)
        if memory is not None:
            reads.landed(tensor, host, wait=not non_blocking)
        return host

    patches.set(transfers, "_downloaded", downloaded)
