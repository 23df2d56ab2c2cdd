"""A suppression that cannot take effect as written."""

from __future__ import annotations

from graphlint.finding import Level
from graphlint.rules.rule import Rule


class UnknownSuppressionCode(Rule):
    code = "CG902"
    name = "unknown-suppression-code"
    hazard = "other"
    level = Level.WARNING
    summary = "a suppression comment names no rule that exists"
