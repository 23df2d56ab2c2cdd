"""What the report of a test carries to where the outcome is told, perhaps in another process: plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from graphlint.formats.style import Style, count
from graphlint.formats.text import lines_of
from graphlint.sentinel.pytest_plugin import NAME
from graphlint.sentinel.reporting import Outcome
from graphlint.sentinel.settings import Request

PROPERTIES = (f"{NAME}_findings", f"{NAME}_codes")


class Shown(TypedDict):
    """A finding as a line and as a text of several."""

    line: str
    text: str


class Payload(TypedDict):
    """What was seen in a test so far; `failed` says that it failed for nothing but its findings."""

    mode: str
    warn: bool
    failed: bool
    graphs: int
    replays: int
    unseen: list[str]
    accepted: int
    used: list[str]
    found: int
    findings: list[Shown]


def payload_of(outcome: Outcome, request: Request, most: int) -> Payload:
    """Return what to tell of a test, with its first findings only."""
    report, watched = outcome.report, outcome.report.watched
    assert watched is not None
    return {
        "mode": watched.mode,
        "warn": bool(request.warn),
        "failed": False,
        "graphs": watched.graphs,
        "replays": watched.replays,
        "unseen": list(watched.unseen),
        "accepted": report.accepted,
        "used": [str(entry) for entry in outcome.used],
        "found": len(report.findings),
        "findings": [
            {
                "line": f"{each.code} [{each.name}] {each.path}:{each.span.line}",
                "text": "\n".join(lines_of(each, report.sources, Style())),
            }
            for each in report.findings[:most]
        ],
    }


def rendered(outcome: Outcome, most: int, since: int = 0) -> str:
    """Return the findings from the number `since` on as text, the first of them only; none is no text."""
    new = outcome.findings[since:]
    shown = ["\n".join(lines_of(each, outcome.report.sources, Style())) for each in new[:most]]
    more = [f"… {count(len(new) - most, 'more finding')}"] if len(new) > most else []
    return "\n\n".join([*shown, *more])


def properties_of(outcome: Outcome) -> Iterator[tuple[str, object]]:
    """Yield how much was found and the codes, for JUnit."""
    if outcome.findings:
        yield PROPERTIES[0], len(outcome.findings)
        yield PROPERTIES[1], " ".join(sorted({finding.code for finding in outcome.findings}))
