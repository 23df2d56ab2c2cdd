"""What a part of the analysis asked of a project: enough to know later whether its answer still holds."""

from __future__ import annotations

from dataclasses import dataclass, field

Search = tuple[str, str]
"""A kind of search (`defines`, `writes`, `mentions`, `derives`) and the name searched for."""


@dataclass(slots=True)
class Trace:
    """The files that were read, the searches with the files they found, and how names were resolved."""

    files: set[str] = field(default_factory=set)
    searches: dict[Search, tuple[str, ...]] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, other: Trace) -> None:
        """Rest on what another part of the analysis rests on, too."""
        self.files |= other.files
        self.searches.update(other.searches)
        self.names.update(other.names)
