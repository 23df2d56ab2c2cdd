"""SARIF 2.1.0, for code scanning services: one run, the chain of a finding as its code flow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from graphlint import __version__
from graphlint.finding import Evidence, Finding, Hop
from graphlint.formats.fingerprints import fingerprints
from graphlint.formats.page import render as rendered_page
from graphlint.formats.style import Style
from graphlint.problem import Problem
from graphlint.report import Report
from graphlint.rules.registry import find
from graphlint.rules.rule import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
# A name of its own: services compare fingerprints of one name only.
FINGERPRINT = "graphlintPlace/v1"

Data = dict[str, object]


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield the document; the page of each rule that has findings is in it."""
    codes = sorted({finding.code for finding in report.findings})
    run: Data = {
        "tool": {"driver": {"name": "graphlint", "version": __version__, "rules": [*map(_rule, codes)]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "the folder in which graphlint ran"}}},
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [*map(_notification, report.problems), *_unseen(report)],
            }
        ],
        "results": list(_results(report, codes)),
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> Data:
    rule = find(code)
    assert rule is not None
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": f"graphlint explain {rule.code}", "markdown": _page(rule)},
        "defaultConfiguration": {"level": rule.level.value},
        "properties": {"tags": [rule.hazard]},
    }


def _page(rule: type[Rule]) -> str:
    try:
        return rendered_page(rule.page().read_text(encoding="utf-8"), Style())
    except OSError:
        return rule.summary


def _results(report: Report, codes: list[str]) -> Iterator[Data]:
    marks = fingerprints(report.findings, report.sources)
    for finding, mark in zip(report.findings, marks, strict=True):
        result: Data = {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": finding.level.value,
            "message": {"text": _message(finding)},
            "locations": [{"physicalLocation": _physical(finding.path, _region(finding))}],
            "partialFingerprints": {FINGERPRINT: mark},
            "properties": {"confidence": finding.confidence.value, "hazard": finding.hazard},
        }
        if finding.chain:
            result["codeFlows"] = [{"threadFlows": [{"locations": [*map(_step, finding.chain)]}]}]
        if finding.evidence is not None:
            result |= _evidence(finding, finding.evidence)
        yield result


def _evidence(finding: Finding, evidence: Evidence) -> Data:
    """The stacks of a finding of the sentinel, and how often it was seen."""
    seen = {"check": evidence.check, "graph": evidence.graph, "replay": evidence.replay}
    return {
        "stacks": [
            {"message": {"text": what}, "frames": [_step(hop) for hop in stack]}
            for what, stack in evidence.stacks
        ],
        "occurrenceCount": evidence.times,
        "properties": {"confidence": finding.confidence.value, "hazard": finding.hazard, **seen},
    }


def _message(finding: Finding) -> str:
    return f"{finding.message}; {finding.help}" if finding.help else finding.message


def _region(finding: Finding) -> Data:
    span = finding.span
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": max(span.line, span.end_line),
        "endColumn": span.end_column,
    }


def _step(hop: Hop) -> Data:
    physical = _physical(hop.path, {"startLine": hop.line})
    return {"location": {"physicalLocation": physical, "message": {"text": hop.function}}}


def _physical(path: str, region: Data) -> Data:
    return {"artifactLocation": _artifact(path), "region": region}


def _artifact(path: str) -> Data:
    if Path(path).is_absolute():
        return {"uri": "file://" + quote(path, errors="surrogateescape")}
    return {"uri": quote(path, errors="surrogateescape"), "uriBaseId": ROOT}


def _unseen(report: Report) -> Iterator[Data]:
    for reason in report.watched.unseen if report.watched is not None else ():
        yield {"level": "note", "message": {"text": f"not seen: {reason}"}}


def _notification(problem: Problem) -> Data:
    location = {"physicalLocation": _physical(problem.path, {"startLine": problem.line})}
    return {"level": "error", "message": {"text": problem.reason}, "locations": [location]}
