"""Annotations of a GitHub workflow.

GitHub keeps 10 errors, 10 warnings and 10 notices of a step and drops the others silently. So the worst come
first, those beyond the limit follow as plain lines of the log, and a last notice says how many they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from graphlint.finding import Finding, Level
from graphlint.formats.concise import concise_line
from graphlint.formats.style import Style, count
from graphlint.report import Report, doubt, severity

# One notice of the ten is kept for the one that counts what is not annotated.
LIMITS = {Level.ERROR: 10, Level.WARNING: 10, Level.NOTE: 9}
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield an annotation for each finding that GitHub would keep, and a plain line for each other."""
    written: Counter[Level] = Counter()
    rest: list[Finding] = []
    for finding in sorted(report.findings, key=lambda each: (severity(each), doubt(each), each.sort_key)):
        if written[finding.level] < LIMITS[finding.level]:
            written[finding.level] += 1
            yield _annotation(finding) + "\n"
        else:
            rest.append(finding)
    for finding in rest:
        yield concise_line(finding) + "\n"
    if rest:
        yield f"::notice title=graphlint::{count(len(rest), 'more finding')} in the log of this step\n"


def _annotation(finding: Finding) -> str:
    span = finding.span
    properties = {"file": finding.path, "line": str(span.line), "endLine": str(max(span.line, span.end_line))}
    if span.line == span.end_line:
        # GitHub refuses columns for an annotation of several lines.
        properties |= {"col": str(span.column), "endColumn": str(max(span.column, span.end_column - 1))}
    properties["title"] = f"{finding.code} {finding.name}"
    listed = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.level]} {listed}::{_escape(_message(finding))}"


def _message(finding: Finding) -> str:
    lines = [finding.message]
    lines += [f"{hop.path}:{hop.line}  {hop.function}" for hop in finding.chain]
    return "\n".join([*lines, finding.help] if finding.help else lines)


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
