"""How sure a finding may be."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.finding import Confidence, Level


@dataclass(frozen=True, slots=True)
class Certainty:
    """The most that may be claimed at a place: conditions on the way there lower level and confidence."""

    level: Level = Level.ERROR
    confidence: Confidence = Confidence.DEFINITE
