"""A code quality report of GitLab: one list, every finding with a fingerprint of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

from graphlint.finding import Finding, Level
from graphlint.formats.fingerprints import fingerprints
from graphlint.formats.style import Style
from graphlint.report import Report

_SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield the report."""
    marks = fingerprints(report.findings, report.sources)
    issues = [_issue(finding, mark) for finding, mark in zip(report.findings, marks, strict=True)]
    yield json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, fingerprint: str) -> dict[str, object]:
    return {
        "description": finding.message,
        "check_name": f"{finding.code} {finding.name}",
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.level],
        "location": {"path": finding.path, "lines": {"begin": finding.span.line}},
    }
