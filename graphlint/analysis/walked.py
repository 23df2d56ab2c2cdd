"""Lists that captured code goes through: the graph has the elements that they had at the capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import conditions, effects, renewals
from graphlint.analysis.graphs import Capture, HostUse, Write
from graphlint.analysis.values import NO_CELLS, Const, Sequence_

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note(m: Machine, owner: Sequence_) -> None:
    """Captured code goes through a list: it matters when it was there before."""
    capture, place = m.capture, m.frame.here
    if capture is None or capture.compiled or owner.kind != "list" or owner.serial > capture.serial:
        return
    if owner.items:
        count, sure = Const(len(owner.items)), conditions.certainty(m)
        use = HostUse(count, NO_CELLS, "elements", place, m.chain(place), sure)
        capture.walked.setdefault((id(owner.fields), effects.ITEMS), (owner, use))


def added_to(m: Machine, record: Capture) -> Iterator[tuple[HostUse, Write]]:
    """The lists that eager code has added to since, and where."""
    for cell, (owner, use) in record.walked.items():
        writes = renewals.writes_since(m, record, cell)
        if writes and isinstance(use.value, Const) and len(owner.items) > use.value.value:
            yield use, writes[-1]
