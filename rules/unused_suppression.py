"""A suppression that no finding needs."""

from __future__ import annotations

from graphlint.finding import Level
from graphlint.rules.rule import Rule


class UnusedSuppression(Rule):
    code = "CG901"
    name = "unused-suppression"
    hazard = "other"
    level = Level.WARNING
    summary = "a suppression comment matches no finding"
