"""A call inside a region that could not be followed."""

from __future__ import annotations

from graphlint.finding import Level
from graphlint.rules.rule import Rule


class UnresolvedRegionTarget(Rule):
    code = "CG903"
    name = "unresolved-region-target"
    hazard = "other"
    level = Level.NOTE
    summary = "a call in a capture region could not be followed"
