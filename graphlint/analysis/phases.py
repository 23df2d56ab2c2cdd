"""Loops that warm up, capture and replay in turn, as their own count tells: `if step < 3: … elif step == 3:`.

Such a loop is followed for a few turns, in which the count is not known after the first one.
"""

from __future__ import annotations

import ast

from graphlint.analysis import own_text
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import walk

TURNS = 4  # one that warms up, one that captures, and two that replay


@per_node
def has(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether the text of a loop captures and replays, and asks in between how far it has come."""
    text = own_text.text_of(loop)
    if not text.captures or not text.replays:
        return False
    counted = {
        part.id for part in walk(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    tests = (part.test for part in walk(loop) if isinstance(part, ast.If))
    return any(
        isinstance(name, ast.Name) and name.id in counted
        for test in tests
        if isinstance(test, ast.Compare)
        for name in ast.walk(test)
    )
