"""What a watch has found, in short."""

from __future__ import annotations

from typing import Any


def codes(watching: Any) -> list[str]:
    """The codes of the findings."""
    return [finding.code for finding in watching.findings]


def messages(watching: Any) -> str:
    """The messages of the findings, one a line."""
    return "\n".join(finding.message for finding in watching.findings)
