"""Whether the graphs of a pool were captured in an order that lets them share its memory."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, State
from graphlint.sentinel.findings import Finding, Place

_ENOUGH = 3  # captures in a row
_BLOCK = 512  # bytes: what the allocator hands out is a multiple of it


class CaptureOrder(Check):
    """At each capture: graphs of one pool that are captured by one line, each larger than the last."""

    name = "capture-order"
    subscribes = (events.CaptureEnded,)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._sizes: dict[tuple[int, Place], list[int]] = {}

    def on(self, event: events.Event) -> Iterator[Finding]:
        assert isinstance(event, events.CaptureEnded)
        largest = _blocks(max((made.size for made in event.outputs), default=0))
        if not largest or not event.stack or event.by_library:
            return
        sizes = self._sizes.setdefault((event.pool, event.stack[0]), [])
        if sizes and sizes[-1] >= largest:
            sizes.clear()
        sizes.append(largest)
        if len(sizes) == _ENOUGH:
            message = (
                f"this is the third capture into one pool whose outputs are larger than those of the last: "
                f"{', '.join(map(str, sizes))} bytes, so that none fits into what the earlier ones have freed"
            )
            graph = self.state.graphs[event.graph]
            yield self.finding("CG601", message, graph, level="warning", confidence="likely")


def _blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK
