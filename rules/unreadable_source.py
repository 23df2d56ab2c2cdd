"""A file that belongs to the program and cannot be read."""

from __future__ import annotations

from graphlint.finding import Level
from graphlint.rules.rule import Rule


class UnreadableSource(Rule):
    code = "CG900"
    name = "unreadable-source"
    hazard = "other"
    level = Level.ERROR
    summary = "a file of the program cannot be decoded or parsed"
