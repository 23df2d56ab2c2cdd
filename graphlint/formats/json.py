"""The findings for programs: one JSON document, version 1 of its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from graphlint.finding import Evidence, Finding, Hop
from graphlint.formats.style import Style
from graphlint.report import Report

VERSION = 1


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield the document; lines and columns count from 1, in characters."""
    document: dict[str, object] = {
        "version": VERSION,
        "incomplete": bool(report.problems),
        "findings": [_finding(finding) for finding in report.findings],
        "summary": asdict(report.summary),
    }
    if report.watched is not None:
        document["watched"] = {**asdict(report.watched), "unseen": list(report.watched.unseen)}
    yield json.dumps(document, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, object]:
    evidence = {"evidence": _evidence(finding.evidence)} if finding.evidence is not None else {}
    return {
        "path": finding.path,
        "line": finding.span.line,
        "column": finding.span.column,
        "end_line": finding.span.end_line,
        "end_column": finding.span.end_column,
        "code": finding.code,
        "name": finding.name,
        "hazard": finding.hazard,
        "level": finding.level.value,
        "confidence": finding.confidence.value,
        "message": finding.message,
        "help": finding.help,
        "chain": [hop_document(hop) for hop in finding.chain],
        **evidence,
    }


def _evidence(evidence: Evidence) -> dict[str, object]:
    """Three stacks, the empty ones included, and where and how often it was seen."""
    return {
        "captured": [hop_document(hop) for hop in evidence.captured],
        "touched": [hop_document(hop) for hop in evidence.touched],
        "replayed": [hop_document(hop) for hop in evidence.replayed],
        "check": evidence.check,
        "graph": evidence.graph,
        "replay": evidence.replay,
        "times": evidence.times,
    }


def hop_document(hop: Hop) -> dict[str, object]:
    """Return one step of a chain as JSON data."""
    return {"path": hop.path, "line": hop.line, "function": hop.function}
