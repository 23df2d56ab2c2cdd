"""A finding of the sentinel, made to order."""

from __future__ import annotations

from typing import Any

from graphlint.sentinel.findings import Finding, Place, Stack


def seen(*, code: str = "CG101", captured: Stack = (), touched: Stack = (), **fields: Any) -> Finding:
    """A finding in which only what a test speaks of is of interest."""
    given: dict[str, Any] = {"replayed": (), "check": "names", "graph": 1, "replay": 2, **fields}
    return Finding(code=code, message="`x` is another tensor", captured=captured, touched=touched, **given)


def at(file: object, line: int = 1, function: str = "step") -> Place:
    """A place."""
    return Place(str(file), line, function)
