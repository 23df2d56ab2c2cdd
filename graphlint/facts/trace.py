"""What a part of the analysis asked of a project: enough to know later whether its answer still holds."""

from __future__ import annotations

from dataclasses import dataclass, field

Search = tuple[str, str]
"""A kind of search (`writes`, `mentions`, `derives`, …) and the name searched for."""
Part = tuple[str, str]
"""A file, and what of it was looked at, as `facts/outline.py` names it."""


@dataclass(slots=True)
class Trace:
    """The parts of files that were looked at, the searches with what they found, and what names meant."""

    parts: set[Part] = field(default_factory=set)
    searches: dict[Search, tuple[str, ...]] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, other: Trace) -> None:
        """Rest on what another part of the analysis rests on, too."""
        self.parts |= other.parts
        self.searches.update(other.searches)
        self.names.update(other.names)

    def files(self) -> set[str]:
        """The files of which anything was looked at."""
        return {path for path, _ in self.parts}
