"""A declared function that the analysis cannot find."""

from __future__ import annotations

from graphlint.finding import Level
from graphlint.rules.rule import Rule


class UnresolvedRegionTarget(Rule):
    code = "CG903"
    name = "unresolved-region-target"
    hazard = "other"
    level = Level.WARNING
    summary = "an entry of `captured` or `guards` names no function"
